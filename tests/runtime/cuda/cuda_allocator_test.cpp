// The caching allocator on a source of its own, without a driver.
#include "caching_allocator.h"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>
#include <string>

namespace sinter::rt::cuda {
namespace {

constexpr int64_t mebibyte = 1 << 20;

class HostBlocks : public BlockSource {
public:
  explicit HostBlocks(int64_t most = INT64_MAX) : most(most) {}
  ~HostBlocks() override { EXPECT_EQ(held, 0) << "blocks that were not released"; }
  StatusOr<void *> reserve(int64_t bytes) override {
    if (!broken.ok())
      return broken;
    if (bytes > most - held)
      return Status(Code::OutOfMemory, "");
    void *block = std::aligned_alloc(512, size_t(bytes + 511) / 512 * 512);
    sizes[block] = bytes;
    held += bytes;
    reserves += 1;
    return block;
  }
  void release(void *block) override {
    EXPECT_TRUE(drained) << "released before a wait";
    held -= sizes.at(block);
    sizes.erase(block);
    std::free(block);
  }
  Status drain() override {
    drained = true;
    return {};
  }

  std::map<void *, int64_t> sizes;
  int64_t most, held = 0, reserves = 0;
  bool drained = false;
  Status broken;
};

void *take(CachingAllocator &allocator, int64_t bytes, std::string_view name = "x") {
  StatusOr<void *> memory = allocator.allocate(size_t(bytes), {name, "a.cc:1"});
  return memory.ok() ? *memory : nullptr;
}

TEST(CachingAllocator, SmallPiecesShareABlock) {
  HostBlocks source;
  CachingAllocator allocator(source, {1 << 30, true});
  std::vector<void *> pieces;
  for (int i = 0; i < 100; ++i)
    pieces.push_back(take(allocator, 1000));
  EXPECT_EQ(source.reserves, 1);
  EXPECT_EQ(allocator.use().reserved, 2 * mebibyte);
  EXPECT_EQ(allocator.use().allocated, 100 * 1024);
  std::ranges::sort(pieces);
  EXPECT_EQ(std::ranges::adjacent_find(pieces), pieces.end());
  for (void *piece : pieces) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(piece) % 256, 0u);
    EXPECT_TRUE(allocator.free(piece));
  }
  EXPECT_EQ(allocator.use().largestFree, 2 * mebibyte) << "merged again";
  EXPECT_TRUE(allocator.consistent());
}

TEST(CachingAllocator, SmallAndLargeAreKeptApart) {
  HostBlocks source;
  CachingAllocator allocator(source, {1 << 30, true});
  void *large = take(allocator, 8 * mebibyte), *small = take(allocator, 512);
  EXPECT_EQ(source.reserves, 2);
  allocator.free(large);
  void *again = take(allocator, 32 * mebibyte);
  EXPECT_EQ(again, large) << "no small piece is in its block";
  EXPECT_EQ(source.reserves, 2);
  allocator.free(again);
  allocator.free(small);
}

TEST(CachingAllocator, TheSmallestPieceThatFitsIsTaken) {
  HostBlocks source;
  CachingAllocator allocator(source, {1 << 30, true});
  void *a = take(allocator, 64 << 10), *gap = take(allocator, 256), *b = take(allocator, 4 << 10),
       *end = take(allocator, 256);
  allocator.free(a);
  allocator.free(b);
  EXPECT_EQ(take(allocator, 4000), b);
  EXPECT_EQ(take(allocator, 60 << 10), a);
  (void)gap, (void)end;
  EXPECT_TRUE(allocator.consistent());
}

TEST(CachingAllocator, TheLimitHoldsAndUnusedBlocksAreReleasedForIt) {
  HostBlocks source;
  CachingAllocator allocator(source, {100 * mebibyte, true});
  void *a = take(allocator, 40 * mebibyte), *b = take(allocator, 40 * mebibyte);
  EXPECT_EQ(take(allocator, 40 * mebibyte), nullptr);
  EXPECT_TRUE(a && b);
  void *rest = take(allocator, 19 * mebibyte);
  EXPECT_NE(rest, nullptr) << "a block is no larger than the limit allows";
  allocator.free(a);
  allocator.free(b);
  EXPECT_EQ(source.drained, false);
  EXPECT_NE(take(allocator, 80 * mebibyte), nullptr) << "both blocks go back for one";
  EXPECT_LE(allocator.use().reserved, 100 * mebibyte);
  EXPECT_EQ(allocator.use().peak, 99 * mebibyte);
  EXPECT_TRUE(allocator.consistent());
}

TEST(CachingAllocator, AnExhaustedCardYieldsWhatFits) {
  HostBlocks source(20 * mebibyte);
  CachingAllocator allocator(source, {1 << 30, true});
  EXPECT_NE(take(allocator, 18 * mebibyte), nullptr) << "not 32 MiB, but what was asked for";
  EXPECT_EQ(take(allocator, 3 * mebibyte), nullptr);
  EXPECT_NE(take(allocator, 1000), nullptr);
  EXPECT_TRUE(allocator.consistent());
}

TEST(CachingAllocator, SmallRequestsUseLargePiecesBeforeTheyFail) {
  HostBlocks source(32 * mebibyte);
  CachingAllocator allocator(source, {1 << 30, true});
  void *large = take(allocator, 8 * mebibyte);
  EXPECT_NE(take(allocator, 1000), nullptr);
  allocator.free(large);
  EXPECT_TRUE(allocator.consistent());
}

TEST(CachingAllocator, WithoutGrowthAllIsReservedOnce) {
  HostBlocks source;
  CachingAllocator allocator(source, {64 * mebibyte, false});
  void *small = take(allocator, 1000), *large = take(allocator, 60 * mebibyte);
  EXPECT_TRUE(small && large);
  EXPECT_EQ(source.reserves, 1);
  EXPECT_EQ(source.held, 64 * mebibyte);
  EXPECT_EQ(take(allocator, 8 * mebibyte), nullptr);
  allocator.free(small);
  allocator.free(large);
  EXPECT_EQ(allocator.use().largestFree, 64 * mebibyte);
}

TEST(CachingAllocator, SizesBeyondReason) {
  HostBlocks source;
  CachingAllocator allocator(source, {1 << 30, true});
  EXPECT_EQ(take(allocator, INT64_MAX), nullptr);
  EXPECT_EQ(allocator.allocate(SIZE_MAX, {}).status().code(), Code::OutOfMemory);
  EXPECT_NE(take(allocator, 0), nullptr);
}

TEST(CachingAllocator, ErrorsOfTheSourceArePassedOn) {
  HostBlocks source;
  source.broken = Status(Code::FailedPrecondition, "lost");
  CachingAllocator allocator(source, {1 << 30, true});
  EXPECT_EQ(allocator.allocate(16, {}).status().message(), "lost");
}

TEST(CachingAllocator, OwnersAreSorted) {
  HostBlocks source;
  CachingAllocator allocator(source, {1 << 30, true});
  void *first = take(allocator, 1000, "few");
  take(allocator, 3000, "many");
  take(allocator, 3000, "many");
  auto owners = allocator.owners();
  ASSERT_EQ(owners.size(), 2u);
  EXPECT_EQ(owners[0].name, "many");
  EXPECT_EQ(owners[0].bytes, 2 * 3072);
  EXPECT_EQ(owners[0].count, 2);
  allocator.free(first);
  EXPECT_EQ(allocator.owners().size(), 1u);
  EXPECT_FALSE(allocator.free(first));
  int other;
  EXPECT_FALSE(allocator.free(&other));
}

class CachingAllocatorStress : public testing::TestWithParam<std::tuple<int, bool>> {};

TEST_P(CachingAllocatorStress, RandomUseKeepsTheBooksAndTheBytes) {
  auto [seed, grow] = GetParam();
  std::mt19937 random(seed);
  HostBlocks source(200 * mebibyte);
  CachingAllocator allocator(source, {160 * mebibyte, grow});
  struct Live {
    unsigned char *memory;
    size_t bytes;
    unsigned char mark;
  };
  std::vector<Live> live;
  int failed = 0;
  for (int i = 0; i < 3000; ++i) {
    if (live.empty() || random() % 100 < 52) {
      size_t bytes = size_t(1) << (random() % 25);
      bytes += random() % (bytes + 1);
      auto *memory = static_cast<unsigned char *>(take(allocator, int64_t(bytes)));
      if (!memory) {
        failed += 1;
        continue;
      }
      // Whoever overlaps one of its ends is found when that is freed.
      live.push_back({memory, bytes, static_cast<unsigned char>(random())});
      memory[0] = memory[bytes - 1] = live.back().mark;
    } else {
      size_t which = random() % live.size();
      std::swap(live[which], live.back());
      Live &gone = live.back();
      ASSERT_EQ(gone.memory[gone.bytes - 1], gone.mark);
      ASSERT_EQ(gone.memory[0], gone.mark);
      ASSERT_TRUE(allocator.free(gone.memory));
      live.pop_back();
    }
    if (i % 50 == 0) {
      ASSERT_TRUE(allocator.consistent()) << i;
      ASSERT_LE(source.held, 160 * mebibyte);
    }
    if (i % 700 == 0) {
      ASSERT_TRUE(allocator.trim().ok());
    }
  }
  EXPECT_GT(failed, 0) << "the limit was never met";
  for (const Live &left : live)
    EXPECT_TRUE(allocator.free(left.memory));
  EXPECT_TRUE(allocator.consistent());
  EXPECT_EQ(allocator.use().allocated, 0);
  EXPECT_TRUE(allocator.trim().ok());
  EXPECT_EQ(source.held, grow ? 0 : 160 * mebibyte);
}

INSTANTIATE_TEST_SUITE_P(Seeds, CachingAllocatorStress,
                         testing::Combine(testing::Range(1, 5), testing::Bool()));

} // namespace
} // namespace sinter::rt::cuda
