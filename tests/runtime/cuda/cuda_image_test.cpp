// Which image suits which card and driver.
#include "cuda_support.h"

namespace sinter::rt::cuda {
namespace {

using Kind = CudaImage::Kind;

std::string chosen(std::initializer_list<CudaImage> images, int capability, int driver = 13000) {
  std::vector<CudaImage> list(images);
  StatusOr<size_t> index = chooseImage(list, capability, driver);
  return index.ok() ? std::string(list[*index].architecture) +
                          (list[*index].kind == Kind::Ptx ? " PTX" : "")
                    : index.status().message();
}

constexpr std::string_view ptx78 = "//\n.version 7.8\n.target sm_80\n", ptx70 = ".version 7.0\n",
                           ptx90 = ".version 9.0\n";

TEST(CudaImages, ACubinRunsOnItsMajorVersion) {
  CudaImage sm80 = image(Kind::Cubin, "sm_80", "x"), sm86 = image(Kind::Cubin, "sm_86", "x"),
            sm90 = image(Kind::Cubin, "sm_90", "x"), ptx = image(Kind::Ptx, "sm_80", ptx70);
  EXPECT_EQ(chosen({ptx, sm80, sm86, sm90}, 90), "sm_90");
  EXPECT_EQ(chosen({ptx, sm80, sm86, sm90}, 89), "sm_86") << "the closest";
  EXPECT_EQ(chosen({ptx, sm80, sm86, sm90}, 86), "sm_86");
  EXPECT_EQ(chosen({ptx, sm80, sm86, sm90}, 80), "sm_80") << "8.6's is no use to 8.0";
  EXPECT_EQ(chosen({ptx, sm80, sm86, sm90}, 120), "sm_80 PTX");
  EXPECT_EQ(chosen({sm80, sm90}, 75),
            "the card is sm_75 (compute capability 7.5) and the kernels are compiled for cubin "
            "sm_80, cubin sm_90: compile with --target=cuda:sm_75");
  EXPECT_EQ(chosen({}, 90), "the card is sm_90 (compute capability 9.0) and the kernels are "
                            "compiled for nothing: compile with --target=cuda:sm_90");
}

TEST(CudaImages, ArchitectureSpecificForms) {
  CudaImage exact = image(Kind::Cubin, "sm_90a", "x"), plain = image(Kind::Cubin, "sm_90", "x"),
            family = image(Kind::Cubin, "sm_100f", "x"),
            exactPtx = image(Kind::Ptx, "sm_90a", ptx78),
            familyPtx = image(Kind::Ptx, "sm_100f", ptx90);
  EXPECT_EQ(chosen({plain, exact}, 90), "sm_90a");
  EXPECT_EQ(chosen({family}, 103), "sm_100f");
  EXPECT_EQ(chosen({familyPtx}, 103), "sm_100f PTX");
  EXPECT_NE(chosen({familyPtx}, 120).find("the card is sm_120"), std::string::npos);
  EXPECT_NE(chosen({exactPtx}, 100).find("the card is sm_100"), std::string::npos);
}

TEST(CudaImages, TheNewestPtxAndFatbinsBeforeIt) {
  CudaImage old = image(Kind::Ptx, "sm_70", ptx70), newer = image(Kind::Ptx, "sm_80", ptx78),
            fat = image(Kind::Fatbin, "", "x"), cubin = image(Kind::Cubin, "sm_90", "x");
  EXPECT_EQ(chosen({old, newer}, 90), "sm_80 PTX");
  EXPECT_EQ(chosen({old, newer}, 75), "sm_70 PTX");
  EXPECT_EQ(chosen({newer, fat}, 90), "");
  EXPECT_EQ(chosen({fat, cubin}, 90), "sm_90");
}

TEST(CudaImages, TheDriverDecidesToo) {
  CudaImage cubin = image(Kind::Cubin, "sm_90", "x", 13000), ptx = image(Kind::Ptx, "sm_80", ptx78);
  EXPECT_EQ(chosen({cubin, ptx}, 90, 13000), "sm_90");
  EXPECT_EQ(chosen({cubin, ptx}, 90, 12090), "sm_80 PTX") << "R575 does not load CUDA 13's cubins";
  EXPECT_EQ(
      chosen({cubin}, 90, 12090),
      "the kernels are cubin of CUDA 13.0 for sm_90, which needs a driver for CUDA 13.0 (R580) or "
      "later, and this one supports CUDA 12.9: update the driver, or compile for an older "
      "one");
  EXPECT_EQ(chosen({image(Kind::Cubin, "sm_90", "x", 12080)}, 90, 12000), "sm_90")
      << "minor versions are compatible";
  EXPECT_NE(
      chosen({cubin, image(Kind::Ptx, "sm_80", ".version 8.3\n")}, 90, 11080).find("PTX ISA 8.3"),
      std::string::npos)
      << "the least demanding is named";
}

TEST(CudaImages, PtxVersions) {
  EXPECT_EQ(ptxVersion(ptx78), 78);
  EXPECT_EQ(ptxVersion("  .version\t8.4"), 84);
  for (std::string_view none : {"", "version 7.8", ".version", ".version 7", ".version x.y",
                                ".version 7.", ".version 100.1", "// .version 7.8"})
    EXPECT_EQ(ptxVersion(none), 0) << none;
  EXPECT_EQ(cudaOfPtx(78), 11080);
  EXPECT_EQ(cudaOfPtx(85), 12050);
  EXPECT_EQ(cudaOfPtx(90), 13000);
  EXPECT_EQ(cudaOfPtx(99), 0) << "not known: the driver decides";
  EXPECT_EQ(cudaOfPtx(64), 11000) << "older than any driver we take";
  EXPECT_EQ(driverBranch(12000), "R525");
  EXPECT_EQ(driverBranch(12060), "R565") << "the first that has it";
  EXPECT_EQ(driverBranch(14000), "a newer driver");
  EXPECT_EQ(formatCudaVersion(12040), "12.4");
}

TEST(CudaImages, Architectures) {
  EXPECT_EQ(parseArchitecture("sm_90")->capability, 90);
  EXPECT_EQ(parseArchitecture("compute_100f")->suffix, 'f');
  EXPECT_EQ(parseArchitecture("sm_120a")->capability, 120);
  for (std::string_view wrong : {"", "sm_", "90", "sm_9", "sm_90x", "sm_90aa", "sm_1000", "gfx90a"})
    EXPECT_FALSE(parseArchitecture(wrong)) << wrong;
}

} // namespace
} // namespace sinter::rt::cuda
