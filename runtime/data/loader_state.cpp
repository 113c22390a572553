#include "sinter/base/text.h"
#include "sinter/core/json.h"
#include "sinter/data/loader.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace sinter::rt::data {

std::string LoaderState::str() const {
  // Words of 64 bits as text: many JSON readers keep only 53 bits of a number.
  return concat("{\"shuffled\":", shuffled ? "true" : "false", ",\"seed\":\"", seed,
                "\",\"epoch\":", epoch, ",\"next\":", next, ",\"fingerprint\":\"", fingerprint,
                "\"}");
}

static uint64_t readWord(JsonReader &json) {
  size_t at = json.position();
  std::string text = json.readString();
  uint64_t value = 0;
  auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || stop != text.data() + text.size())
    json.fail("expected a number of 64 bits in quotes", at);
  return value;
}

StatusOr<LoaderState> LoaderState::parse(std::string_view text) {
  JsonReader json(text, "state of a data loader");
  LoaderState state;
  std::string key;
  unsigned seen = 0;
  for (json.beginObject(); json.nextKey(key);) {
    if (key == "shuffled")
      state.shuffled = json.readBoolean(), seen |= 1;
    else if (key == "seed")
      state.seed = readWord(json), seen |= 2;
    else if (key == "epoch")
      state.epoch = json.readInteger(), seen |= 4;
    else if (key == "next")
      state.next = json.readInteger(), seen |= 8;
    else if (key == "fingerprint")
      state.fingerprint = readWord(json), seen |= 16;
    else
      json.fail("unknown key '" + key + "'", json.position());
  }
  if (json.ok() && (seen != 31 || state.epoch < 0 || state.next < 0))
    json.fail("a key is missing or negative", json.position());
  SINTER_RETURN_IF_ERROR(json.finish());
  return state;
}

std::string LoaderStats::verdict() const {
  double share = waitShare();
  std::string text = concat("data wait ", std::round(share * 1000) / 10, " % of the time: ");
  if (share < 0.05)
    return text + "fine";
  auto slowest = std::max_element(stages.begin(), stages.end(), [](const Stage &a, const Stage &b) {
    return a.seconds < b.seconds;
  });
  text += share < 0.2 ? "noticeable" : "input-bound";
  if (slowest != stages.end())
    text +=
        ", '" + slowest->name + "' takes longest; give the loader more workers or make it cheaper";
  return text;
}

} // namespace sinter::rt::data
