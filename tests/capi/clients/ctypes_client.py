"""python3 ctypes_client.py LIBRARY BUNDLE: the library through ctypes; answers, too, where it says that it is profile 12."""
import ctypes as c
import sys
import threading

QUESTION = b"What is the capital of France?"
pointer, size, floats, ints, error_type = c.c_void_p, c.c_size_t, c.POINTER(c.c_float), c.POINTER(c.c_int), c.POINTER(c.c_void_p)


class VerifierEvent(c.Structure):
    _fields_ = [("accepted", ints), ("n_accepted", size), ("rejected_from", c.c_int), ("rejected_to", c.c_int),
                ("corrected", ints), ("n_corrected", size)]


class LlmConfig(c.Structure):
    _fields_ = [("max_tokens", c.c_int32), ("temperature", c.c_float), ("top_p", c.c_float), ("top_k", c.c_int32),
                ("repeat_penalty", c.c_float), ("slot_id", c.c_int32), ("prompt_cache_key", c.c_char_p), ("draft_min", c.c_int32),
                ("draft_max", c.c_int32), ("drafter_path", c.c_char_p), ("gbnf_grammar", c.c_char_p),
                ("disable_thinking", c.c_int32), ("n_gpu_layers", c.c_int32), ("cache_type_k", c.c_char_p),
                ("cache_type_v", c.c_char_p)]


Chunk = c.CFUNCTYPE(c.c_int, floats, size, c.c_int, pointer)
Verifier = c.CFUNCTYPE(None, c.POINTER(VerifierEvent), pointer)
Log = c.CFUNCTYPE(None, c.c_int, c.c_char_p, pointer)
WARNING = 2


class Library:
    def __init__(self, path):
        self.library = c.CDLL(path)
        self.error = c.c_void_p()

    def call(self, name, result, *arguments):
        """One function; argument pairs are (type, value). The place for an error is added where there is one to read."""
        function = getattr(self.library, f"eliza_inference_{name}")
        function.restype = result
        function.argtypes = [kind for kind, _ in arguments]
        return function(*[value for _, value in arguments])

    def checked(self, name, *arguments, result=c.c_int):
        self.error.value = None
        got = self.call(name, result, *arguments, (error_type, c.byref(self.error)))
        if (got is None) if result is pointer else got < 0:
            message = c.string_at(self.error.value).decode()
            self.call("free_string", None, (pointer, self.error))
            raise RuntimeError(f"{name}: {got}: {message}")
        assert self.error.value is None
        return got


def main(path, bundle):
    library = Library(path)
    abi = library.call("abi_version", c.c_char_p).decode()
    ctx = (pointer, library.checked("create", (c.c_char_p, bundle.encode()), result=pointer))
    for region in (b"tts", b"asr"):
        library.checked("mmap_acquire", ctx, (c.c_char_p, region))
    try:
        library.checked("mmap_acquire", ctx, (c.c_char_p, b"nonsense"))
        raise AssertionError("a region of that name")
    except RuntimeError as e:
        assert "region_name is 'nonsense'" in str(e), e

    text = (c.c_char_p, QUESTION), (size, len(QUESTION)), (c.c_char_p, b"default")
    pcm = (c.c_float * (24000 * 20))()
    n = library.checked("tts_synthesize", ctx, *text, (floats, pcm), (size, len(pcm)))
    chunks, callers = [], set()

    @Chunk
    def take(samples, n_samples, is_final, _):
        chunks.append((bool(samples), n_samples, is_final))
        callers.add(threading.get_ident())
        return 0

    library.checked("tts_synthesize_stream", ctx, *text, (Chunk, take), (pointer, None))
    assert chunks[-1] == (False, 0, 1) and all(not final for _, _, final in chunks[:-1]), chunks
    assert callers == {threading.get_ident()}

    out = c.create_string_buffer(4096)
    library.checked("asr_transcribe", ctx, (floats, pcm), (size, n), (c.c_int, 24000), (c.c_char_p, out), (size, len(out)))
    assert out.value == QUESTION, out.value
    stream = (pointer, library.checked("asr_stream_open", ctx, (c.c_int, 24000), result=pointer))
    library.checked("asr_stream_feed", stream, (floats, pcm), (size, n))
    tokens, n_tokens = (c.c_int * 256)(), size(256)
    library.checked("asr_stream_finish", stream, (c.c_char_p, out), (size, len(out)), (ints, tokens), (c.POINTER(size), n_tokens))
    assert out.value == QUESTION and n_tokens.value > 3
    library.call("asr_stream_close", None, stream)

    vad = (pointer, library.checked("vad_open", ctx, (c.c_int, 16000), result=pointer))
    probability = c.c_float(-1)
    library.checked("vad_process", vad, (floats, (c.c_float * 512)()), (size, 512), (floats, probability))
    assert 0 <= probability.value < 0.5
    library.call("vad_close", None, vad)
    if abi == "12":
        answer(library, ctx)
        hear_of_harmful_caches(library, ctx)
    library.call("destroy", None, ctx)
    print(f"ctypes: ABI {abi}")


def answer(library, ctx):
    events = []

    @Verifier
    def note(event, _):
        e = event[0]
        events.append((e.accepted[:e.n_accepted], e.rejected_from, e.rejected_to, e.corrected[:e.n_corrected]))

    library.checked("set_verifier_callback", ctx, (Verifier, note), (pointer, None))
    prompt = b"<|im_start|>user\n" + QUESTION + b"<|im_end|>\n<|im_start|>assistant\n"
    ids, n_ids = ints(), size()
    library.checked("tokenize", ctx, (c.c_char_p, prompt), (size, len(prompt)), (c.c_int, 1), (c.c_int, 1),
                    (c.POINTER(ints), c.byref(ids)), (c.POINTER(size), c.byref(n_ids)))
    config = LlmConfig(n_gpu_layers=-1)
    stream = (pointer, library.checked("llm_stream_open", ctx, (c.POINTER(LlmConfig), config), result=pointer))
    out, tokens, n = c.create_string_buffer(1024), (c.c_int * 32)(), size()
    drafted, accepted, n_accepted = c.c_int(), c.c_int(), 0
    for _ in range(500):  # whether drafts pay is measured, and on a busy machine that may take a while
        events.clear()
        said, status = b"", 0
        library.checked("llm_stream_prefill", stream, (ints, ids), (size, n_ids.value))
        while status == 0:
            status = library.checked("llm_stream_next", stream, (ints, tokens), (size, 32), (c.POINTER(size), c.byref(n)),
                                     (c.c_char_p, out), (size, len(out)), (ints, drafted), (ints, accepted))
            said += out.value
            n_accepted += accepted.value
        assert said == b"The capital of France is Paris.", said
        assert n_accepted == sum(len(event[0]) for event in events)
        if n_accepted > 0:
            break
    assert n_accepted > 0, "the bundle has a drafter"
    library.call("free_tokens", None, (ints, ids))
    library.checked("set_verifier_callback", ctx, (Verifier, Verifier()), (pointer, None))
    library.call("llm_stream_close", None, stream)


def hear_of_harmful_caches(library, ctx):
    """Opens streams with a cache that the model bears and with one that it does not: obeyed, and told of once."""
    heard = []
    note = Log(lambda level, text, _: heard.append((level, text.decode())))
    log_set = library.library.ov_log_set
    log_set.argtypes, log_set.restype = [Log, pointer], None
    log_set(note, None)
    for name in (b"q8_0", b"tbq3_0"):
        config = LlmConfig(n_gpu_layers=-1, cache_type_k=name, cache_type_v=name)
        stream = (pointer, library.checked("llm_stream_open", ctx, (c.POINTER(LlmConfig), config), result=pointer))
        library.call("llm_stream_close", None, stream)
    log_set(Log(), None)
    assert [level for level, _ in heard] == [WARNING], heard
    for part in ("cache_type_k = tbq3_0 with cache_type_v = tbq3_0 harms this model", "or tbq4_0 for keys and values"):
        assert part in heard[0][1], heard


if __name__ == "__main__":
    main(*sys.argv[1:])
