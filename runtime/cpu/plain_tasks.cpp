#include "plain_tasks.h"

#include "cut.h"
#include "sinter/base/float16.h"

#include <algorithm>
#include <cstring>

namespace sinter::rt::onednn {
namespace {

constexpr int64_t elementsPerTask = 1 << 15;

class ZeroTask final : public Task {
public:
  ZeroTask(Place place, int64_t bytes) : place(place), bytes(bytes) {}
  void bind(const Areas &areas) override { data = areas.at(place); }
  bool run() override {
    std::memset(data, 0, bytes);
    return true;
  }

private:
  Place place;
  int64_t bytes;
  std::byte *data = nullptr;
};

class SumTask final : public Task {
public:
  SumTask(std::vector<Place> partials, Place destination, Range range)
      : partials(std::move(partials)), destination(destination), range(range),
        sources(this->partials.size()) {}

  void bind(const Areas &areas) override {
    for (size_t i = 0; i < partials.size(); ++i)
      sources[i] = reinterpret_cast<const float *>(areas.at(partials[i]));
    result = reinterpret_cast<float *>(areas.at(destination));
  }

  bool run() override {
    constexpr int64_t block = 1024; // stays in the first-level cache over all partials
    float sum[block];
    for (int64_t begin = range.begin; begin < range.end; begin += block) {
      int64_t count = std::min(block, range.end - begin);
      std::copy_n(sources[0] + begin, count, sum);
      for (size_t part = 1; part < sources.size(); ++part)
        for (int64_t i = 0; i < count; ++i)
          sum[i] += sources[part][begin + i];
      std::copy_n(sum, count, result + begin);
    }
    return true;
  }

private:
  std::vector<Place> partials;
  Place destination;
  Range range;
  std::vector<const float *> sources;
  float *result = nullptr;
};

class ConvertTask final : public Task {
public:
  ConvertTask(Place source, DType from, Place destination, int64_t elements)
      : source(source), destination(destination), from(from), elements(elements) {}

  void bind(const Areas &areas) override {
    input = areas.at(source);
    output = areas.at(destination);
  }

  bool run() override {
    if (from == DType::BF16)
      convert(reinterpret_cast<const uint16_t *>(input), reinterpret_cast<float *>(output),
              [](uint16_t bits) { return bfloat16ToFloat(bits); });
    else
      convert(reinterpret_cast<const float *>(input), reinterpret_cast<uint16_t *>(output),
              [](float value) { return floatToBFloat16(value); });
    return true;
  }

private:
  template <class From, class To, class Rule>
  void convert(const From *__restrict in, To *__restrict out, Rule rule) const {
    for (int64_t i = 0; i < elements; ++i)
      out[i] = rule(in[i]);
  }

  Place source, destination;
  DType from;
  int64_t elements;
  const std::byte *input = nullptr;
  std::byte *output = nullptr;
};

/// One task a range of elements.
template <class Make> Phase overRanges(int64_t elements, Make make) {
  Phase phase;
  int64_t pieces = std::clamp<int64_t>(elements / elementsPerTask, 1, kMaxTasks);
  if (elements > 0)
    for (Range range : cutRange(elements, pieces, 16))
      phase.push_back(make(range));
  return phase;
}

} // namespace

Phase zeroPhase(Place place, int64_t bytes) {
  return overRanges(bytes, [&](Range range) {
    return std::make_unique<ZeroTask>(place.plus(range.begin), range.size());
  });
}

Phase sumPhase(std::vector<Place> partials, Place destination, int64_t elements) {
  return overRanges(elements, [&](Range range) {
    return std::make_unique<SumTask>(partials, destination, range);
  });
}

Phase convertPhase(Place source, DType from, Place destination, int64_t elements) {
  int64_t sourceSize = from == DType::BF16 ? 2 : 4;
  return overRanges(elements, [&](Range range) {
    return std::make_unique<ConvertTask>(source.plus(range.begin * sourceSize), from,
                                         destination.plus(range.begin * (6 - sourceSize)),
                                         range.size());
  });
}

} // namespace sinter::rt::onednn
