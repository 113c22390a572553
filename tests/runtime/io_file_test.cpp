// AtomicFile, MappedFile, the checksum and the JSON reader.
#include "io_support.h"

#include "sinter/core/file.h"
#include "sinter/core/hash.h"
#include "sinter/core/json.h"

#include <set>

#include <sys/mount.h>
#include <sys/stat.h>

using namespace sinter;
using namespace sinter::rt;
using namespace sinter::test;

TEST(AtomicFile, WritesAndReplaces) {
  ScratchDirectory scratch;
  std::string path = scratch / "file";
  ASSERT_TRUE(writeFile(path, "first").ok());
  ::chmod(path.c_str(), 0640);
  std::string large(3 << 20, 'x');
  ASSERT_TRUE(writeFile(path, large).ok());
  EXPECT_EQ(readAll(path), large);
  struct stat info;
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u) << "the mode of the replaced file is kept";
  EXPECT_EQ(scratch.names(), std::vector<std::string>{"file"});
}

TEST(AtomicFile, WithoutCommitNothingChanges) {
  ScratchDirectory scratch;
  ASSERT_TRUE(writeFile(scratch / "file", "old").ok());
  {
    StatusOr<AtomicFile> file = AtomicFile::create(scratch / "file");
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write(std::string(1 << 20, 'n')).ok());
    EXPECT_EQ(readAll(scratch / "file"), "old");
  }
  EXPECT_EQ(readAll(scratch / "file"), "old");
  EXPECT_EQ(scratch.names().size(), 1u);
}

TEST(AtomicFile, FollowsLinks) {
  ScratchDirectory scratch;
  ASSERT_TRUE(writeFile(scratch / "real", "old").ok());
  std::filesystem::create_symlink("real", scratch / "link");
  ASSERT_TRUE(writeFile(scratch / "link", "new").ok());
  EXPECT_EQ(readAll(scratch / "real"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(scratch / "link"));
}

TEST(AtomicFile, FailureKeepsTheOldFile) {
  ScratchDirectory scratch;
  std::string path = scratch / "file";
  ASSERT_TRUE(writeFile(path, "old").ok());
  for (size_t size : {size_t(100), size_t(5000), size_t(4 << 20)}) {
    FileSizeLimit limit(64);
    expectError(writeFile(path, std::string(size, 'n')), path, "ulimit -f");
  }
  EXPECT_EQ(readAll(path), "old");
  EXPECT_EQ(scratch.names().size(), 1u);
}

TEST(AtomicFile, FullDisk) {
  expectError(writeFile("/dev/full", "text"), "/dev/full", "free some space");
  ScratchDirectory scratch;
  if (::mount("tmpfs", scratch.path().c_str(), "tmpfs", 0, "size=64k") != 0)
    GTEST_SKIP() << "mounting a small file system needs root";
  std::string path = scratch / "file";
  EXPECT_TRUE(writeFile(path, "old").ok());
  Status status = writeFile(path, std::string(1 << 20, 'n'));
  std::string content = readAll(path);
  size_t files = scratch.names().size();
  ::umount(scratch.path().c_str());
  expectError(status, path, "free some space");
  EXPECT_EQ(content, "old");
  EXPECT_EQ(files, 1u);
}

TEST(AtomicFile, RefusesWithReasons) {
  ScratchDirectory scratch;
  Status missing = writeFile(scratch / "no/such/file", "x");
  expectError(missing, "no/such/file", "No such file");
  expectError(missing, "check the spelling", "directories are not created");
  EXPECT_EQ(missing.code(), Code::NotFound);
  expectError(writeFile(scratch.path(), "x"), scratch.path(), "directory");
  expectError(writeFile(scratch / std::string(300, 'n'), "x"), "nnn", "shorter name");
  ASSERT_TRUE(writeFile(scratch / "file", "x").ok());
  expectError(writeFile(scratch / "file/below", "x"), "file/below", "not a directory");
}

TEST(MappedFile, MapsAndRefuses) {
  ScratchDirectory scratch;
  writeAll(scratch / "file", "content");
  writeAll(scratch / "empty", "");
  auto file = MappedFile::open(scratch / "file");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(writeFile(scratch / "file", "other").ok());
  std::string mapped(reinterpret_cast<const char *>((*file)->data()), (*file)->size());
  EXPECT_EQ(mapped, "content") << "replacing the file leaves the mapping alone";
  auto empty = MappedFile::open(scratch / "empty");
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ((*empty)->size(), 0u);
  expectError(MappedFile::open(scratch / "none").status(), scratch / "none", "No such file");
  EXPECT_TRUE(
      MappedFile::open(scratch / "none").status().message().ends_with("; check the spelling"));
  expectError(MappedFile::open(scratch.path()).status(), scratch.path(), "directory");
  ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
  expectError(MappedFile::open(scratch / "pipe").status(), "pipe", "copy it to a file");
}

TEST(Hash, SeesEveryBitAndTheLength) {
  std::string text(75, 'a');
  std::set<uint64_t> seen{hashText(text)};
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string changed = text;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    seen.insert(hashText(changed));
  }
  for (size_t size = 0; size < 75; ++size) {
    seen.insert(hashText(std::string(size, 'a')));
    seen.insert(hashText(std::string(size, '\0')));
  }
  EXPECT_EQ(seen.size(), 1 + 75 * 8 + 75 * 2 - 1u) << "the empty text counts once";
  EXPECT_EQ(hashText("sinter"), 0x322cf66245ab9083u) << "the value is part of file formats";
}

TEST(Json, ReadsWhatItIsAskedFor) {
  JsonReader json(R"( {"a" : -12, "b":["x\n\u00e9\ud83d\ude00", true], "c":{}, "d":[] } )", "text");
  std::string key;
  json.beginObject();
  ASSERT_TRUE(json.nextKey(key));
  EXPECT_EQ(json.readInteger(), -12);
  ASSERT_TRUE(json.nextKey(key));
  json.beginArray();
  ASSERT_TRUE(json.nextElement());
  EXPECT_EQ(json.readString(), "x\n\xc3\xa9\xf0\x9f\x98\x80");
  ASSERT_TRUE(json.nextElement());
  EXPECT_TRUE(json.readBoolean());
  EXPECT_FALSE(json.nextElement());
  ASSERT_TRUE(json.nextKey(key));
  json.beginObject();
  EXPECT_FALSE(json.nextKey(key));
  ASSERT_TRUE(json.nextKey(key));
  EXPECT_EQ(key, "d");
  json.beginArray();
  EXPECT_FALSE(json.nextElement());
  EXPECT_FALSE(json.nextKey(key));
  EXPECT_TRUE(json.finish().ok());
}

/// Reads {"key": integer, …} and what stands behind it.
static Status readIntegers(std::string_view text) {
  JsonReader json(text, "text", 100);
  std::string key;
  for (json.beginObject(); json.nextKey(key);)
    json.readInteger();
  return json.finish();
}

TEST(Json, RefusesAllElse) {
  EXPECT_TRUE(readIntegers(R"({"a":0,"b":9223372036854775807})").ok());
  for (const char *text : {"",
                           "{",
                           "[]",
                           R"({"a":01})",
                           R"({"a":1.0})",
                           R"({"a":1e3})",
                           R"({"a":+1})",
                           R"({"a":9223372036854775808})",
                           R"({"a":1,})",
                           R"({"a":1 "b":2})",
                           R"({a:1})",
                           R"({"a":1}x)",
                           R"({"a" 1})",
                           R"({"a)",
                           "{\"a\n\":1}",
                           R"({"\x":1})",
                           R"({"\u12g4":1})",
                           R"({"\ud800":1})",
                           R"({"\udc00":1})",
                           R"({"\ud800\u0041":1})",
                           "{\"\xff\":1}",
                           "{\"\xc0\x80\":1}",
                           "{\"\xed\xa0\x80\":1}",
                           "{\"\xf4\x90\x80\x80\":1}",
                           "{\"\xe2\x82\":1}",
                           R"({"a":-})",
                           R"({"a":})",
                           R"({,})"})
    expectError(readIntegers(text), "text: byte 1", "");
}

TEST(Json, QuotesWhatItReads) {
  std::string text("a\"\\\n\0\x1f z\xc3\xa9", 10);
  std::string quoted = jsonQuote(text);
  JsonReader reader(quoted, "text");
  EXPECT_EQ(reader.readString(), text);
  EXPECT_TRUE(reader.finish().ok());
}
