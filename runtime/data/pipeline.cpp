#include "sinter/data/pipeline.h"

#include "sinter/base/text.h"
#include "sinter/data/loader.h"

namespace sinter::rt::data {

Pipeline::Pipeline(std::shared_ptr<const Dataset> dataset) {
  spec.dataset = std::move(dataset);
  if (!spec.dataset)
    spec.error = makeError(Code::InvalidArgument, "the pipeline's data set is null; open it first");
  else if (spec.dataset->size() <= 0)
    spec.error = makeError(Code::InvalidArgument, "the data set is empty; check its path");
}

Pipeline Pipeline::refuse(std::string what) const {
  Pipeline result = *this;
  if (result.spec.error.ok())
    result.spec.error = Status(Code::InvalidArgument, std::move(what));
  return result;
}

Pipeline Pipeline::shuffle(uint64_t seed) const {
  Pipeline result = *this;
  result.spec.shuffled = true;
  result.spec.seed = seed;
  return result;
}

Pipeline Pipeline::shard(int64_t rank, int64_t world) const {
  if (world < 1 || rank < 0 || rank >= world)
    return refuse(concat("shard(rank = ", rank, ", world = ", world,
                         "): the rank must be at least 0 and less than the world"));
  Pipeline result = *this;
  result.spec.rank = rank;
  result.spec.world = world;
  return result;
}

Pipeline Pipeline::addMap(PipelineSpec::Map map) const {
  Pipeline result = *this;
  result.spec.maps.push_back(std::move(map));
  return result;
}

Loader Pipeline::batch(int64_t size, BatchOptions options) const {
  Pipeline result =
      size >= 1 ? *this : refuse(concat("batch(", size, "): a batch has at least one sample"));
  result.spec.batchSize = size;
  result.spec.batch = std::move(options);
  return Loader(std::move(result.spec));
}

Pipeline from(std::shared_ptr<const Dataset> dataset) { return Pipeline(std::move(dataset)); }

Pipeline arrays(std::vector<Array> fields) {
  auto dataset = ArrayDataset::make(std::move(fields));
  return dataset.ok() ? Pipeline(*dataset) : Pipeline(dataset.status());
}

} // namespace sinter::rt::data
