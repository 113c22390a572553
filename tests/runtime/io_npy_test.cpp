#include "io_support.h"

#include "sinter/core/npy.h"

#include <cstring>

using namespace sinter;
using namespace sinter::rt;
using namespace sinter::test;

static std::string encode(const std::string &header, const std::string &data, char version = 1) {
  std::string file = std::string("\x93NUMPY") + version + '\0';
  uint32_t size = static_cast<uint32_t>(header.size());
  file.append(reinterpret_cast<const char *>(&size), version == 1 ? 2 : 4);
  return file + header + data;
}

static StatusOr<NpyArray> parse(const std::string &file) {
  return parseNpy(reinterpret_cast<const std::byte *>(file.data()), file.size(), "x.npy");
}

template <class T> static std::vector<T> values(const TensorView &view) {
  std::vector<T> result(view.bytes / sizeof(T));
  if (!result.empty())
    std::memcpy(result.data(), view.data, view.bytes);
  return result;
}

TEST(Npy, RoundTripOfEveryDtypeAndRank) {
  ScratchDirectory scratch;
  std::string path = scratch / "x.npy";
  const std::vector<std::vector<int64_t>> shapes = {{}, {6}, {2, 3}, {0}, {3, 0, 2}, {1, 2, 3, 1}};
  for (DType dtype : {DType::F64, DType::F32, DType::F16, DType::I64, DType::I32, DType::I16,
                      DType::I8, DType::U8, DType::Bool})
    for (const std::vector<int64_t> &dims : shapes) {
      std::vector<uint8_t> data(*denseBytes(dtype, dims));
      for (size_t i = 0; i < data.size(); ++i)
        data[i] = static_cast<uint8_t>(dtype == DType::Bool ? i & 1 : i * 37);
      ASSERT_TRUE(writeNpy(path, viewOf("", dtype, dims, data)).ok());
      EXPECT_EQ(readAll(path).size() % 64, data.size() % 64);
      StatusOr<NpyArray> array = readNpy(path);
      ASSERT_TRUE(array.ok()) << array.status().message();
      EXPECT_EQ(array->view.dtype, dtype);
      EXPECT_EQ(array->view.dims, dims);
      EXPECT_EQ(values<uint8_t>(array->view), data);
    }
}

TEST(Npy, WritesWhatNumpyWrites) {
  ScratchDirectory scratch;
  std::string path = scratch / "x.npy";
  std::vector<float> data(6, 1.5f);
  ASSERT_TRUE(writeNpy(path, viewOf("", DType::F32, {2, 3}, data)).ok());
  std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  EXPECT_EQ(readAll(path), encode(dict + std::string(117 - dict.size(), ' ') + "\n",
                                  {reinterpret_cast<char *>(data.data()), 24}));
}

TEST(Npy, ReadsFilesOfOthers) {
  std::string logits = sharedData("models/resnet20-cifar10/resnet20_ref_logits_16.npy");
  std::string labels = sharedData("models/resnet20-cifar10/ref_labels_16.npy");
  if (logits.empty() || labels.empty())
    GTEST_SKIP() << "the shared data is not here (set SINTER_SHARED_DATA)";
  StatusOr<NpyArray> array = readNpy(logits);
  ASSERT_TRUE(array.ok()) << array.status().message();
  EXPECT_EQ(array->view.dims, (std::vector<int64_t>{16, 10}));
  EXPECT_EQ(array->view.dtype, DType::F32);
  array = readNpy(labels);
  ASSERT_TRUE(array.ok()) << array.status().message();
  for (int64_t label : values<int64_t>(array->view))
    EXPECT_TRUE(label >= 0 && label < 10);
}

TEST(Npy, ReadsOldAndOddHeaders) {
  std::string data(8, '\0');
  for (const char *header : {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n",
                             "{\"shape\":(2L,),\"fortran_order\":False,\"descr\":\"<f4\"}",
                             "{ 'fortran_order' : True , 'shape' : ( 2 , ) , 'descr' : '<f4' } \n"})
    for (char version : {1, 2, 3}) {
      StatusOr<NpyArray> array = parse(encode(header, data, version));
      ASSERT_TRUE(array.ok()) << array.status().message();
      EXPECT_EQ(array->view.dims, std::vector<int64_t>{2});
    }
  EXPECT_TRUE(parse(encode("{'descr': '>u1', 'fortran_order': False, 'shape': (8,)}", data)).ok())
      << "bytes have no order";
}

TEST(Npy, FortranOrderBecomesRowMajor) {
  std::string data;
  for (char c = 0; c < 24; ++c)
    data += c;
  StatusOr<NpyArray> array =
      parse(encode("{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3, 4)}", data));
  ASSERT_TRUE(array.ok()) << array.status().message();
  std::vector<int8_t> got = values<int8_t>(array->view);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k)
        EXPECT_EQ(got[static_cast<size_t>((i * 3 + j) * 4 + k)], i + 2 * j + 6 * k);
}

TEST(Npy, RefusesWhatIsWrong) {
  struct {
    const char *header, *what;
  } cases[] = {
      {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", "astype('<f4')"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", "structured"},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", "not supported"},
      {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", "not supported"},
      {"{'descr': '<u2', 'fortran_order': False, 'shape': (4,)}", "not supported"},
      {"{'descr': '', 'fortran_order': False, 'shape': (4,)}", "not supported"},
      {"{'descr': '<', 'fortran_order': False, 'shape': (4,)}", "not supported"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "the header says f32[3]"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "the header says f32[1]"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", "dimension"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2)}", "expected"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296,4294967296,4294967296)}",
       "says"},
      {"{'descr': '<f4', 'fortran_order': False}", "lacks"},
      {"{'descr': '<f4', 'descr': '<f4'}", "repeated"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", "more behind"},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", "expected False"},
      {"{'other': 1}", "unknown"},
      {"", "expected {"},
  };
  for (const auto &wrong : cases)
    expectError(parse(encode(wrong.header, std::string(8, '\0'))).status(), "x.npy: byte ",
                wrong.what);
  expectError(parse("PK\3\4 something").status(), "x.npy: byte 0", "no .npy file");
  expectError(parse(encode("{}", "", 4)).status(), "x.npy: byte 6", "version 4");
  expectError(
      parse(encode("{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", "\1\2")).status(),
      "x.npy: byte 66", "neither");
}

TEST(Npy, TruncatedAnywhere) {
  ScratchDirectory scratch;
  std::vector<double> data = {1, 2, 3};
  ASSERT_TRUE(writeNpy(scratch / "x", viewOf("", DType::F64, {3}, data)).ok());
  std::string whole = readAll(scratch / "x");
  for (size_t size = 0; size < whole.size(); ++size)
    expectError(parse(whole.substr(0, size)).status(), "x.npy: byte ", ";");
}

TEST(Npy, RefusesToWrite) {
  ScratchDirectory scratch;
  std::string path = scratch / "x.npy";
  std::vector<uint16_t> data(4);
  expectError(writeNpy(path, viewOf("", DType::BF16, {4}, data)), path, "cast to f32");
  expectError(writeNpy(path, viewOf("", DType::I16, {5}, data)), path, "[5]");
  EXPECT_TRUE(scratch.names().empty());
}
