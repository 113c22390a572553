// Data sets, loaders and checkpoints as a model uses them: what the runtime's data pipeline offers,
// with its errors as exceptions and batches in the struct that a jitted function takes.
//
//   auto loader = data::arrays(images, labels).shuffle(7).batch(64, {.dropLast = true}).prefetch();
//   for (const Digits<Array> &b : data::epoch<Digits>(loader)) step(b);
//
// One thread at a time; loaders make batches in threads of their own.
#pragma once

#include "sinter/data/loader.h"
#include "sinter/data/pipeline.h"
#include "sinter/reflect.h"
#include "sinter/session.h"

#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <tuple>

namespace sinter::data {

using rt::data::arrays;
using rt::data::Batch;
using rt::data::BatchOptions;
using rt::data::Dataset;
using rt::data::from;
using rt::data::Loader;
using rt::data::OnBadSample;
using rt::data::Pipeline;
using rt::data::Sample;
using rt::data::SampleInfo;

struct Mnist {
  std::shared_ptr<const rt::data::ArrayDataset> train, test;
};
/// The four idx files of a directory, plain or gzipped: u8 images [n, 1, 28, 28], i64 labels [n].
Mnist mnist(const std::string &directory, Where at = Where::current());

/// Throws Error with the status' message unless it is ok.
void check(const Status &status, Where at = Where::current());

/// The batches of one epoch as T<Array>, whose fields are the sample's in order.
template <template <class> class T> class Epoch {
public:
  Epoch(Loader &loader, Where at) : loader(loader), at(at) {}

  class Iterator {
  public:
    Iterator(Loader &loader, Where at) : loader(&loader), position(loader.begin()), at(at) {
      take();
    }
    const T<Array> &operator*() const { return fields; }
    Iterator &operator++() {
      ++position;
      take();
      return *this;
    }
    bool operator==(std::default_sentinel_t end) const { return position == end; }

  private:
    void take() {
      if (position == std::default_sentinel)
        return check(loader->status(), at);
      const std::vector<Array> &arrays = position->arrays;
      auto places = detail::fieldsOf(fields);
      constexpr size_t count = std::tuple_size_v<decltype(places)>;
      if (arrays.size() != count)
        check(Status(Code::InvalidArgument, "a batch has " + std::to_string(arrays.size()) +
                                                " arrays, the struct " + std::to_string(count) +
                                                " fields"),
              at);
      size_t next = 0;
      std::apply([&](auto &...place) { ((place = arrays[next++]), ...); }, places);
    }

    Loader *loader;
    typename Loader::Iterator position;
    T<Array> fields;
    Where at;
  };
  Iterator begin() { return Iterator(loader, at); }
  std::default_sentinel_t end() const { return {}; }

private:
  Loader &loader;
  Where at;
};

template <template <class> class T> Epoch<T> epoch(Loader &loader, Where at = Where::current()) {
  return Epoch<T>(loader, at);
}

struct CheckpointOptions {
  int keep = 3; ///< the newest so many files stay
};

/// A directory of checkpoints: every variable of the session, the loader's place in its data, and
/// texts of one's own. A process killed at any moment leaves the last whole one; a run that
/// resumes goes on with the same bits.
class Checkpoints {
public:
  Checkpoints(Session &session, const std::string &directory, CheckpointOptions options = {},
              Where at = Where::current());
  ~Checkpoints();

  /// Takes up the newest whole checkpoint; its step, or -1 if there is none.
  int64_t resume(Loader *loader = nullptr, Where at = Where::current());
  /// The text that was saved under `name` in what resume() read; "" if there is none.
  std::string text(const std::string &name) const;
  /// Copies everything and writes it in the background; the failure of a former save is an Error.
  void save(int64_t step, const Loader *loader = nullptr,
            const std::map<std::string, std::string> &texts = {}, Where at = Where::current());
  /// Waits for the save in the background.
  void wait(Where at = Where::current());

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace sinter::data
