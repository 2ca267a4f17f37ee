"""The demo's recogniser (../asr) as a judge of made speech: a loss in what its encoder hears, and word error rates."""

import importlib
from pathlib import Path
import sys

import torch
from torch import nn
import torch.nn.functional as F

from hubert import Resampler

TRAINING = Path(__file__).resolve().parent.parent
RANGE = 6.5         # of log10 power below a clip's loudest band; what is softer counts as silence


def modules_of_asr(*names):
    """Modules of ../asr. Some of them, and of what they use, have names that modules here have too."""
    shared = "gguf_file", "model", "losses", "score", "export", "train", "data"
    ours, path = {name: sys.modules.pop(name) for name in shared if name in sys.modules}, list(sys.path)
    folders = [str(TRAINING / name) for name in ("asr", "text", "common", "speech")]
    here = str(Path(__file__).resolve().parent)
    sys.path[:] = folders + [folder for folder in path if folder not in ("", here)]
    try:
        return [importlib.import_module(name) for name in names]
    finally:
        for name in shared:
            sys.modules.pop(name, None)
        sys.modules.update(ours)
        sys.path[:] = path + folders[1:]        # behind this folder


def load(folder, network, export):
    """The recogniser of a bundle's asr folder; its sizes are those of the files."""
    encoder, tensors = export.read_file(Path(folder) / export.ENCODER_NAME)
    text = export.read_file(Path(folder) / export.TEXT_NAME)[0]
    audio = lambda name: encoder["clip.audio." + name]
    decoder = lambda name: text["qwen3vl." + name]
    model = network.Recogniser(network.Config(
        network.EncoderConfig(
            n_channel=len(tensors["a.conv2d.1.weight"]), n_embd=audio("embedding_length"),
            n_head=audio("attention.head_count"), n_layer=audio("block_count"), n_ff=audio("feed_forward_length"),
            n_out=audio("projection_dim"), n_pos=len(tensors["a.position_embd.weight"])),
        network.DecoderConfig(
            n_vocab=len(text["tokenizer.ggml.tokens"]), n_embd=decoder("embedding_length"),
            n_layer=decoder("block_count"), n_head=decoder("attention.head_count"),
            n_head_kv=decoder("attention.head_count_kv"), head_dim=decoder("attention.key_length"),
            n_ff=decoder("feed_forward_length"), n_ctx=decoder("context_length"), rope_theta=decoder("rope.freq_base"))))
    export.load_shipped(folder, model)
    return model.eval().requires_grad_(False)


class Judge(nn.Module):
    """Loads the recogniser once for both uses. Sounds are (batch, samples) at 24 kHz."""

    def __init__(self, folder, device):
        super().__init__()
        self.network, self.mel, export = modules_of_asr("network", "mel", "export")
        self.model, self.device = load(folder, self.network, export).to(device), device
        self.front_end = self.mel.MelFrontEnd(device)
        self.resampler = Resampler(24000, 16000).to(device)
        self.originals = {}         # word error rates that score.py has found

    def bands(self, sound):
        """(batch, frames, N_MEL): power of the front end's bands."""
        mel = self.mel
        x = F.pad(self.resampler(sound)[:, None], (mel.N_FFT // 2,) * 2, mode="reflect")[:, 0]
        spectrum = torch.stft(x, mel.N_FFT, mel.HOP, mel.N_FFT, self.front_end.window, center=False, return_complex=True)
        power = spectrum.real.square() + spectrum.imag.square()
        return power.transpose(1, 2)[:, :sound.shape[1] // 240] @ self.front_end.filters

    def states(self, mel, half):
        """mel: (batch, whole seconds, N_MEL) -> what the encoder holds before its blocks and behind each, as network.py
        computes it; without the layout of clips, which is put together on the CPU."""
        encoder, net = self.model.encoder, self.network
        with half():
            x = mel.reshape(-1, net.CHUNK_FRAMES, mel.shape[2]).transpose(1, 2)[:, None]
            for name in "123":
                x = F.gelu(encoder.conv2d[name](x))
            h = encoder.conv_out(x.permute(0, 3, 1, 2).flatten(2)) + encoder.position[:net.CHUNK_TOKENS]
            h = h.view(len(mel), -1, h.shape[2])
            states, mask = [h], None
            if not hasattr(F, "scaled_dot_product_attention"):
                mask = torch.ones(1, 1, 1, h.shape[1], dtype=torch.bool, device=h.device)
            for block in encoder.blk:
                states.append(block(states[-1], mask, 0.0))
            states.append(encoder.post_ln(states[-1]))
        return [state.float() for state in states]

    def forward(self, made, real, half):
        """Mean relative difference of the encoder's states. Sounds last whole seconds."""
        with torch.no_grad():
            bands = self.bands(real)
            floor = bands.amax((1, 2), keepdim=True).clamp_min(1e-4) * 10 ** -RANGE
            wanted = self.states(((bands + floor).log10() + 4) / 4, half)
        got = self.states(((self.bands(made) + floor).log10() + 4) / 4, half)
        parts = [F.l1_loss(g, w) / w.abs().mean() for g, w in zip(got, wanted)]
        return sum(parts) / len(parts)

    @torch.no_grad()
    def word_error_rate(self, texts, sounds):
        """(rate, transcripts) of a list of sounds (samples,)."""
        score, data, tokenizer = modules_of_asr("score", "data", "tokenizer")
        prompt = data.Prompt(tokenizer.Tokenizer())
        scorer = score.Scorer(self.model, self.front_end, prompt, self.device)
        sounds = [self.resampler(x[None])[0] for x in sounds]
        heard = [""] * len(sounds)
        for batch in score.batches_of(range(len(sounds)), [len(x) for x in sounds], 300):
            lengths = torch.tensor([len(sounds[k]) for k in batch], device=self.device)
            audio = nn.utils.rnn.pad_sequence([sounds[k] for k in batch], batch_first=True)
            for k, answer in zip(batch, scorer.answers(audio, lengths)):
                heard[k] = prompt.read(answer)[0]
        wrong, words = map(sum, zip(*map(score.word_errors, texts, heard)))
        return wrong / max(1, words), heard
