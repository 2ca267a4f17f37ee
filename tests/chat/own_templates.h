// Chat templates written for these tests. Each renders plain conversations as the family it is named after
// does.
#pragma once

#include <map>
#include <string>

namespace parlance::test {

// <|im_start|> markers; a default system message.
inline constexpr const char* kChatMl =
    R"({%- set standard = 'You are Qwen, created by Alibaba Cloud. You are a helpful assistant.' -%}
{%- if not messages or messages[0].role != 'system' -%}
    {{ '<|im_start|>system\n' ~ standard ~ '<|im_end|>\n' }}
{%- endif -%}
{%- for message in messages -%}
    {{ '<|im_start|>' ~ message.role ~ '\n' ~ message.content ~ '<|im_end|>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{ '<|im_start|>assistant\n' }}
{%- endif -%}
)";

// Thoughts of answers before the last question are dropped; the last answer always has its thoughts, be they
// empty.
inline constexpr const char* kThinking = R"({%- set state = namespace(last_question=-1) -%}
{%- for message in messages -%}
    {%- if message.role == 'user' %}{% set state.last_question = loop.index0 %}{% endif -%}
{%- endfor -%}
{%- macro turn(role) -%}<|im_start|>{{ role }}{{ '\n' }}{{ caller() }}<|im_end|>{{ '\n' }}{%- endmacro -%}
{%- for message in messages -%}
    {%- if message.role != 'assistant' -%}
        {%- call turn(message.role) %}{{ message.content }}{% endcall -%}
    {%- else -%}
        {%- set thought, answer = '', message.content -%}
        {%- if '</think>' in message.content -%}
            {%- set thought = message.content.split('</think>')[0].split('<think>')[-1].strip('\n') -%}
            {%- set answer = message.content.split('</think>')[-1].lstrip('\n') -%}
        {%- endif -%}
        {%- call turn('assistant') -%}
            {%- if loop.index0 > state.last_question and (loop.last or thought) -%}
                {{ '<think>\n' ~ thought ~ '\n</think>\n\n' }}
            {%- endif -%}
            {{ answer }}
        {%- endcall -%}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{ '<|im_start|>assistant\n' ~ ('<think>\n\n</think>\n\n' if enable_thinking is false) }}
{%- endif -%}
)";

// As above, with trimmed contents, and an answer that begins with its thoughts unless told otherwise.
inline constexpr const char* kThinkingFirst =
    R"({%- if messages | selectattr('role', 'equalto', 'user') | list | length == 0 -%}
    {{ raise_exception('No user query found in messages.') }}
{%- endif -%}
{%- set last_question = namespace(at=0) -%}
{%- for message in messages -%}
    {%- if message.role == 'user' %}{% set last_question.at = loop.index0 %}{% endif -%}
{%- endfor -%}
{%- for message in messages -%}
    {%- set text = message.content | trim -%}
    {%- if message.role == 'assistant' and '</think>' in text -%}
        {%- set parts = text.split('</think>') -%}
        {%- set thought = parts[0].split('<think>')[-1] | trim -%}
        {%- set text = parts[-1] | trim -%}
        {%- if loop.index0 > last_question.at -%}
            {%- set text = '<think>\n' + thought + '\n</think>\n\n' + text -%}
        {%- endif -%}
    {%- elif message.role == 'assistant' and loop.index0 > last_question.at -%}
        {%- set text = '<think>\n\n</think>\n\n' + text -%}
    {%- endif -%}
    {{ '<|im_start|>%s\n%s<|im_end|>\n' % (message.role, text) }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{ '<|im_start|>assistant\n<think>\n' ~ ('\n</think>\n\n' if enable_thinking is defined and not enable_thinking) }}
{%- endif -%}
)";

// A system header with dates in every conversation.
inline constexpr const char* kDated = R"({{- bos_token }}
{%- macro part(role, text) -%}
    {{ '<|start_header_id|>' ~ role ~ '<|end_header_id|>\n\n' ~ text ~ '<|eot_id|>' }}
{%- endmacro -%}
{%- set today = date_string | default(strftime_now('%d %b %Y')) -%}
{%- set instructions = messages[0].content | trim if messages[0].role == 'system' else '' -%}
{{- part('system', 'Cutting Knowledge Date: December 2023\nToday Date: ' ~ today ~ '\n\n' ~ instructions) }}
{%- for message in messages if message.role != 'system' -%}
    {{ part(message.role, message.content | trim) }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif -%}
)";

// No system role; user and model take turns.
inline constexpr const char* kNoSystem = R"({{ bos_token }}
{%- if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif -%}
{%- for message in messages -%}
    {%- if message.role != ['user', 'assistant'][loop.index0 % 2] -%}
        {{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}
    {%- endif -%}
    {{ '<start_of_turn>' + {'assistant': 'model'}.get(message.role, message.role) + '\n' + message.content | trim }}
    {{- '<end_of_turn>\n' }}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif -%}
)";

// An empty thought opens the answer unless thinking is asked for.
inline constexpr const char* kChannels = R"({{ bos_token }}
{%- for message in messages -%}
    <|turn>{{ 'model' if message.role == 'assistant' else message.role }}
{{ message.content | trim }}<turn|>
{# the newline above belongs to the turn #}
{% endfor -%}
{%- if add_generation_prompt -%}
    <|turn>model
{{ '<|channel>thought\n<channel|>' if not enable_thinking | default(false) }}
{%- endif -%}
)";

// By the names of the families in the recorded conversations.
inline const std::map<std::string, const char*>& own_templates() {
  static const std::map<std::string, const char*> templates = {
      {"qwen2.5", kChatMl},  {"qwen3", kThinking},   {"qwen3.5", kThinkingFirst}, {"llama-3.1", kDated},
      {"llama-3.2", kDated}, {"gemma-2", kNoSystem}, {"gemma-4", kChannels}};
  return templates;
}

}  // namespace parlance::test
