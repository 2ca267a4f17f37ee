"""What bench/gpu_figures.py measures with PyTorch on the same card: bounds, and the same work done by it."""
import statistics
import time

import synthetic_model

HEADS, HEADS_KV, HEAD_DIM = 32, 8, 128  # of attention alone, as bench/kernels/device_attention_bench.cpp has it
ROTATED_BYTES = 1 << 30  # of keys and values that calls go through in turn
GRAPH_CALLS = 20


def seconds_of(work, n):
    import torch

    work()
    times = []
    for _ in range(n):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        work()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return statistics.median(times)


def card_bounds():
    """(bytes/s of a copy inside the card, read and written; FLOP/s of a bf16 matrix product)."""
    import torch

    a = torch.randint(0, 100, (1 << 30,), dtype=torch.int32, device="cuda")
    b = torch.empty_like(a)
    copy = 2 * a.numel() * 4 / seconds_of(lambda: b.copy_(a), 10)
    del a, b
    x, y = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    return copy, 2 * 8192**3 / seconds_of(lambda: x @ y, 20)


def attention_seconds(n_keys, n_rows):
    """Of one layer in bf16, by backend: calls recorded in a CUDA graph, over keys and values that no cache holds."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    n_copies = max(1, ROTATED_BYTES // (2 * 2 * HEADS_KV * HEAD_DIM * n_keys))
    new = lambda *sizes: torch.randn(*sizes, device="cuda", dtype=torch.bfloat16)
    q = new(1, HEADS, n_rows, HEAD_DIM)
    pairs = [(new(1, HEADS_KV, n_keys, HEAD_DIM), new(1, HEADS_KV, n_keys, HEAD_DIM)) for _ in range(n_copies)]
    found = {}
    for name, backend in (("cuDNN", SDPBackend.CUDNN_ATTENTION), ("flash", SDPBackend.FLASH_ATTENTION)):
        def call(i):
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(q, *pairs[i % n_copies], enable_gqa=True)
        try:
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                for i in range(3):
                    call(i)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                kept = [call(i) for i in range(GRAPH_CALLS)]
            found[name] = seconds_of(graph.replay, 20) / GRAPH_CALLS
            del graph, kept
        except RuntimeError as error:
            print(f"PyTorch's {name} attention, {n_keys} keys, {n_rows} rows: {str(error).splitlines()[0]}", flush=True)
    del pairs
    torch.cuda.empty_cache()
    return found


def model_figures(shape_name, n_prompt, n_decode):
    """Tokens/s of transformers on a shape: prefill, and compiled decode behind it."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    shape = synthetic_model.SHAPES[shape_name]
    config = Qwen3Config(vocab_size=synthetic_model.N_VOCAB, hidden_size=shape["n_embd"],
                         intermediate_size=shape["n_ff"], num_hidden_layers=shape["n_layer"],
                         num_attention_heads=shape["n_head"], num_key_value_heads=shape["n_head_kv"],
                         head_dim=shape["head_dim"], max_position_embeddings=synthetic_model.N_CTX,
                         tie_word_embeddings=shape["tied"])
    torch.set_default_dtype(torch.bfloat16)
    torch.set_float32_matmul_precision("high")
    with torch.device("cuda"):
        model = Qwen3ForCausalLM(config).eval()
    prompt = torch.randint(0, 1000, (1, n_prompt), device="cuda")

    def generate(n):
        torch.cuda.synchronize()
        start = time.perf_counter()
        model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=n, min_new_tokens=n,
                       do_sample=False, cache_implementation="static", pad_token_id=0)
        torch.cuda.synchronize()
        return time.perf_counter() - start

    def prefill():
        torch.cuda.synchronize()
        start = time.perf_counter()
        model(prompt, logits_to_keep=1)
        torch.cuda.synchronize()
        return time.perf_counter() - start

    with torch.no_grad():
        prefill()
        prefill_s = statistics.median(prefill() for _ in range(5))
        for n in (n_decode, n_decode, 8):
            generate(n)  # compiles
        decode_s = statistics.median(generate(n_decode + 8) for _ in range(3)) - statistics.median(
            generate(8) for _ in range(3))
    del model
    torch.cuda.empty_cache()
    return n_prompt / prefill_s, n_decode / decode_s
