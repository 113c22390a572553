#include "task_list.h"

#include "single_threaded.h"
#include "sinter/base/text.h"

#include <algorithm>
#include <atomic>

namespace sinter::rt::onednn {

std::byte *Areas::at(const Place &place) const {
  switch (place.area) {
  case Place::Area::Operand:
    return static_cast<std::byte *>(operands[place.index]) + place.offset;
  case Place::Area::Scratch:
    return scratch + place.offset;
  case Place::Area::Packed:
    return (*packed)[place.index].data() + place.offset;
  }
  return nullptr;
}

int64_t Operand::elements() const {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

void TaskList::addPhase(Phase phase) {
  if (!phase.empty())
    phases.push_back(std::move(phase));
}

Place TaskList::allocateScratch(int64_t bytes) {
  Place place{Place::Area::Scratch, 0, scratchSize};
  scratchSize += alignUp(bytes);
  return place;
}

StatusOr<Place> TaskList::allocatePacked(int64_t bytes) {
  StatusOr<Memory> memory = Memory::allocate(bytes);
  if (!memory.ok())
    return memory.status();
  packed.push_back(*std::move(memory));
  return Place{Place::Area::Packed, int32_t(packed.size()) - 1, 0};
}

Status TaskList::runNow(Phase phase) {
  Areas areas{constants.data(), nullptr, &packed};
  SingleThreaded guard;
  for (std::unique_ptr<Task> &task : phase) {
    task->bind(areas);
    if (!task->run())
      return failed();
  }
  return {};
}

Status TaskList::run(void *const *buffers, void *scratch, ThreadPool &pool) {
  Areas areas{buffers, static_cast<std::byte *>(scratch), &packed};
  for (Phase &phase : phases)
    for (std::unique_ptr<Task> &task : phase)
      task->bind(areas);
  std::atomic<bool> good = true;
  for (Phase &phase : phases) {
    pool.parallelFor(int64_t(phase.size()), [&](int64_t begin, int64_t end, int) {
      SingleThreaded guard;
      for (int64_t i = begin; i < end; ++i)
        if (!phase[i]->run())
          good.store(false, std::memory_order_relaxed);
    });
    if (!good.load(std::memory_order_relaxed))
      return failed();
  }
  return {};
}

Status TaskList::failed() const {
  return makeError(Code::Internal, "oneDNN failed while running ", description, " (",
                   implementationName(), "); --vendor=none does without it");
}

std::string TaskList::implementationName() const {
  std::string names;
  for (const std::string &name : implementations)
    names += (names.empty() ? "" : ", ") + name;
  return names;
}

int64_t TaskList::parallelism() const {
  size_t widest = 0;
  for (const Phase &phase : phases)
    widest = std::max(widest, phase.size());
  return int64_t(widest);
}

} // namespace sinter::rt::onednn
