// The services that are offered over the Wyoming protocol, with the models of a choice.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "assistant/regions.h"
#include "engine/generate.h"
#include "wyoming/conversation_memory.h"
#include "wyoming/session.h"

namespace parlance {

struct WyomingOffer {
  std::string text_model, asr_model, tts_model;  // names; empty: there is none
  std::vector<std::string> voices;               // the first one speaks where none is named
  std::vector<std::string> languages;            // codes, that are heard, spoken and answered
  std::string version;                           // of the program
};

// "info", which says what there is, ready to be sent.
WyomingEvent wyoming_info(const WyomingOffer& offer);

struct WyomingSetup {
  WyomingOffer offer;
  std::string system;         // what the model is told before a conversation; empty: nothing
  GenerateOptions generate;   // how it answers
  double most_seconds = 600;  // of one utterance
};

// Sound in any format to text.
Result<void> hear_for_wyoming(Regions& regions, const WyomingSetup& setup, const WyomingEvent& first,
                              JobPort& port);
// A text to sound, whole or while its pieces come.
Result<void> speak_for_wyoming(Regions& regions, const WyomingSetup& setup, const WyomingEvent& first,
                               JobPort& port, bool comes_in_pieces);
// A question to an answer, as the next turn of its conversation.
Result<void> answer_for_wyoming(Regions& regions, const WyomingSetup& setup, ConversationMemory& memory,
                                const WyomingEvent& first, JobPort& port);

// All of them. The regions must outlive the services.
WyomingServices wyoming_services(Regions& regions, WyomingSetup setup);

}  // namespace parlance
