"""What a microphone adds to clean speech: rooms, noises, other people, filters, gains. Torch, in batches, any device.

Sounds are float32 (n_batch, n_samples). Random numbers come from a torch.Generator on the sounds' device.
"""

import math

import torch

SEEN_NOISES = ("white", "pink", "brown", "hum", "music", "tones", "clicks", "wind", "shaped", "crackle", "babble")
UNSEEN_NOISES = ("rain", "engine", "siren", "typing", "blue", "drums", "babble")   # babble: of unseen voices


class Noise:
    """Draws noises of 1 RMS. `speech`: flat float32 or int16 samples (the corpus), from which babble is made."""

    def __init__(self, rate: int, generator: torch.Generator, speech: torch.Tensor = None):
        self.rate, self.generator, self.speech = rate, generator, speech
        self.device = generator.device

    def uniform(self, *shape, low=0.0, high=1.0):
        return torch.rand(shape, generator=self.generator, device=self.device) * (high - low) + low

    def normal(self, *shape):
        return torch.randn(shape, generator=self.generator, device=self.device)

    def time(self, n):
        return torch.arange(n, device=self.device, dtype=torch.float32) / self.rate   # seconds

    def draw(self, kind: str, n_batch: int, n: int) -> torch.Tensor:
        x = getattr(self, kind)(n_batch, n)
        return x / (x.square().mean(1, keepdim=True).sqrt() + 1e-8)

    def _shaped(self, n_batch, n, gain):
        """White noise with the spectrum gain(frequency in Hz)."""
        frequency = torch.fft.rfftfreq(n, 1 / self.rate, device=self.device).clamp(min=20.0)
        return torch.fft.irfft(torch.fft.rfft(self.normal(n_batch, n)) * gain(frequency), n)

    def white(self, n_batch, n):
        return self.normal(n_batch, n)

    def pink(self, n_batch, n):
        return self._shaped(n_batch, n, lambda f: f ** -0.5)

    def brown(self, n_batch, n):
        return self._shaped(n_batch, n, lambda f: 1 / f)

    def blue(self, n_batch, n):
        return self._shaped(n_batch, n, lambda f: f ** 0.5)

    def hum(self, n_batch, n):
        """Mains hum: 50 or 60 Hz with harmonics, and some hiss."""
        base = torch.where(self.uniform(n_batch, 1) < 0.5, 50.0, 60.0) * self.uniform(n_batch, 1, low=0.99, high=1.01)
        x = torch.zeros(n_batch, n, device=self.device)
        for k in range(1, 13):
            phase = k * base * self.time(n) + self.uniform(n_batch, 1)
            x += self.uniform(n_batch, 1) / k ** 0.7 * torch.sin(2 * math.pi * phase)
        return x + 0.05 * self.normal(n_batch, n)

    def wind(self, n_batch, n):
        gusts = self._shaped(n_batch, n, lambda f: (f < 21.0) * 1.0)   # below the clamp: only the slowest parts
        gusts = gusts / (gusts.std(1, keepdim=True) + 1e-8)
        return self._shaped(n_batch, n, lambda f: 1 / (1 + (f / 250) ** 2)) * torch.exp(0.8 * gusts)

    def shaped(self, n_batch, n):
        """Steady noise of any colour that sometimes swells."""
        bands = self.normal(n_batch, 1, 10) * 8
        curve = torch.nn.functional.interpolate(bands, n // 2 + 1, mode="linear", align_corners=True)[:, 0]
        swell = self.uniform(n_batch, 1) * torch.sin(2 * math.pi * (self.uniform(n_batch, 1, low=0.1, high=4.0) * self.time(n)))
        return filtered(self.normal(n_batch, n), 10 ** (curve / 20)) * (1 + 0.8 * swell)

    def crackle(self, n_batch, n):
        """From single cracks to frying: random impulses through a resonance, over some noise."""
        rate = torch.exp(self.uniform(n_batch, 1, low=math.log(5.0), high=math.log(1500.0))) / self.rate
        hits = (self.uniform(n_batch, n) < rate) * self.normal(n_batch, n)
        x = convolve(hits, self._ring(n_batch, 300.0, 6000.0, 0.0015))
        background = self.shaped(n_batch, n)
        level = self.uniform(n_batch, 1) / (background.std(1, keepdim=True) + 1e-8)
        return x / (x.std(1, keepdim=True) + 1e-8) + background * level

    def rain(self, n_batch, n):
        drops = (self.uniform(n_batch, n) < 0.004) * self.normal(n_batch, n) * 12
        high = lambda f: f / (f + 2000)
        return convolve(drops, self._ring(n_batch, 2500.0, 7000.0, 0.002)) + self._shaped(n_batch, n, high)

    def engine(self, n_batch, n):
        """Pulses of a slowly wandering speed through a resonance, over a low rumble."""
        wander = torch.cumsum(self.normal(n_batch, n), 1) / math.sqrt(n) * 0.1
        phase = torch.cumsum(self.uniform(n_batch, 1, low=18.0, high=70.0) * (1 + wander), 1) / self.rate
        pulses = torch.exp(8 * (torch.cos(2 * math.pi * phase) - 1)) * (1 + 0.3 * torch.cos(math.pi * phase))
        pulses = convolve(pulses - pulses.mean(1, keepdim=True), self._ring(n_batch, 80.0, 500.0, 0.01))
        rumble = self._shaped(n_batch, n, lambda f: 1 / f)
        return pulses / (pulses.std(1, keepdim=True) + 1e-8) + 0.5 * rumble / rumble.std(1, keepdim=True)

    def _gate(self, n_batch, n, low_s, high_s):
        """On and off in turn, each for low_s to high_s seconds."""
        period = self.uniform(n_batch, 1, low=low_s, high=high_s) * 2
        share = self.uniform(n_batch, 1, low=0.3, high=0.9)
        return (((self.time(n) / period + self.uniform(n_batch, 1)) % 1.0) < share).float()

    def tones(self, n_batch, n):
        """Beeps: one to three sines, switched on and off."""
        x = torch.zeros(n_batch, n, device=self.device)
        for _ in range(3):
            frequency = self.uniform(n_batch, 1, low=200.0, high=3500.0)
            x += (self.uniform(n_batch, 1) < 0.7) * torch.sin(2 * math.pi * frequency * self.time(n))
        return x * self._gate(n_batch, n, 0.05, 0.8) + 0.003 * self.normal(n_batch, n)

    def siren(self, n_batch, n):
        speed = self.uniform(n_batch, 1, low=0.2, high=2.0)
        swing = torch.sin(2 * math.pi * (speed * self.time(n) + self.uniform(n_batch, 1)))
        phase = torch.cumsum(self.uniform(n_batch, 1, low=500.0, high=1200.0) * torch.exp(0.4 * swing), 1) / self.rate
        return torch.sin(2 * math.pi * phase) + 0.3 * torch.sin(6 * math.pi * phase) + 0.01 * self.normal(n_batch, n)

    def _ring(self, n_batch, low_hz, high_hz, decay_s):
        """Decaying resonances, 6 decays long: what a click excites."""
        t = self.time(int(6 * decay_s * self.rate))
        frequency = self.uniform(n_batch, 3, 1, low=low_hz, high=high_hz)
        return (torch.sin(2 * math.pi * frequency * t) * torch.exp(-t / decay_s)).sum(1)

    def clicks(self, n_batch, n):
        rate = self.uniform(n_batch, 1, low=0.5, high=12.0) / self.rate
        hits = (self.uniform(n_batch, n) < rate) * self.uniform(n_batch, n, low=0.3)
        return convolve(hits, self._ring(n_batch, 600.0, 5000.0, 0.006)) + 0.002 * self.normal(n_batch, n)

    def typing(self, n_batch, n):
        """Keys: two clicks each, five to nine a second, with pauses."""
        gap = self.rate / self.uniform(n_batch, 1, low=5.0, high=9.0)
        place = torch.arange(n, device=self.device) % gap
        hits = ((place < 1) | ((place >= 900) & (place < 901))) * (self.uniform(n_batch, n) < 0.85)
        hits = hits * self._gate(n_batch, n, 0.4, 1.5)
        burst = self.normal(n_batch, int(0.02 * self.rate)) * torch.exp(-self.time(int(0.02 * self.rate)) / 0.003)
        return convolve(hits, burst) + 0.002 * self.normal(n_batch, n)

    def drums(self, n_batch, n):
        beat = self.uniform(n_batch, 1, low=0.25, high=0.6)
        phase = self.time(n) / beat + self.uniform(n_batch, 1)
        since = (phase % 1.0) * beat
        kick = torch.sin(2 * math.pi * (60 * since + 3 * (1 - torch.exp(-since / 0.03)))) * torch.exp(-since / 0.1)
        half = ((2 * phase) % 1.0) * beat / 2
        return kick * (phase.long() % 2 == 0) + self.normal(n_batch, n) * 0.4 * torch.exp(-half / 0.03)

    def music(self, n_batch, n):
        """Three parts of plucked or held notes of a random scale, and sometimes drums."""
        step = self.uniform(n_batch, 1, low=0.15, high=0.7)
        place = self.time(n) / step
        index, since = place.long(), (place % 1.0) * step
        scale = torch.tensor([0, 2, 4, 7, 9, 12, 14, 16], device=self.device, dtype=torch.float32)
        root = self.uniform(n_batch, 1, low=90.0, high=260.0)
        decay = self.uniform(n_batch, 1, low=0.1, high=1.5)
        x = torch.zeros(n_batch, n, device=self.device)
        n_steps = int(n / self.rate / 0.15) + 2
        for part in (1, 2, 3):
            degree = torch.randint(0, len(scale), (n_batch, n_steps), generator=self.generator, device=self.device)
            pitch = (root * part * 2 ** (scale[degree] / 12)).gather(1, index)
            phase = torch.cumsum(pitch, 1) / self.rate
            tone = sum(torch.sin(2 * math.pi * k * phase) / k ** 1.5 for k in range(1, 6))
            x += tone * torch.exp(-since / decay) * (1 - torch.exp(-since / 0.005)) * self.uniform(n_batch, 1, low=0.2)
        return x + self.drums(n_batch, n) * (self.uniform(n_batch, 1) < 0.5)

    def babble(self, n_batch, n):
        """Three to eight people at once. Without a corpus: noise with the rhythm and spectrum of speech."""
        if self.speech is None or len(self.speech) <= n:
            speech = self._shaped(n_batch, n, lambda f: 1 / (1 + (f / 500) ** 2))
            return speech * (1.2 + torch.sin(2 * math.pi * (4 * self.time(n) + self.uniform(n_batch, 1))))
        n_people = int(torch.randint(3, 9, (1,), generator=self.generator, device=self.device))
        starts = (self.uniform(n_batch, n_people, 1) * (len(self.speech) - n)).long()
        people = torch.zeros(n_batch, n, device=self.device)
        for person in range(n_people):   # one at a time: the whole would be (n_batch, n_people, n)
            piece = self.speech[starts[:, person] + torch.arange(n, device=self.device)].float()
            people += piece / (piece.square().mean(1, keepdim=True).sqrt() + 1e-6) * self.uniform(n_batch, 1, low=0.3)
        return people


def convolve(x: torch.Tensor, response: torch.Tensor) -> torch.Tensor:
    """Causal convolution of every row with its own response; the length stays."""
    n = x.shape[1] + response.shape[1] - 1
    size = 1 << (n - 1).bit_length()
    return torch.fft.irfft(torch.fft.rfft(x.float(), size) * torch.fft.rfft(response, size), size)[:, :x.shape[1]]


def rooms(noise: Noise, n_batch: int, rt60_s=(0.1, 0.7), direct_db=(-3.0, 15.0)) -> torch.Tensor:
    """Impulse responses: the direct sound at sample 0, then early reflections that thin into decaying noise."""
    n = int(rt60_s[1] * noise.rate)
    t = noise.time(n)
    tail = noise.normal(n_batch, n) * torch.exp(-6.9 * t / noise.uniform(n_batch, 1, low=rt60_s[0], high=rt60_s[1]))
    density = (t / 0.03).clamp(max=1.0) * 0.97 + 0.03   # single reflections at first
    tail = tail * (noise.uniform(n_batch, n) < density) * (t > 0.0015)
    energy = 10 ** (-noise.uniform(n_batch, 1, low=direct_db[0], high=direct_db[1]) / 20)
    tail = tail / (tail.square().sum(1, keepdim=True).sqrt() + 1e-8) * energy
    tail[:, 0] += 1
    return tail


def filtered(x: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
    """Multiplies the spectrum; gain: (n_batch or 1, n_samples // 2 + 1)."""
    return torch.fft.irfft(torch.fft.rfft(x) * gain, x.shape[1])


def telephone(x: torch.Tensor, rate: int, low_hz=300.0, high_hz=3400.0) -> torch.Tensor:
    f = torch.fft.rfftfreq(x.shape[1], 1 / rate, device=x.device)[None]
    return filtered(x, torch.sigmoid((f - low_hz) / 30) * torch.sigmoid((high_hz - f) / 100))


def coloured(x: torch.Tensor, noise: Noise, strength_db=6.0) -> torch.Tensor:
    """A microphone's response: a smooth random curve of a few dB over eight bands."""
    n = x.shape[1] // 2 + 1
    bands = noise.normal(x.shape[0], 1, 8) * strength_db / 2
    curve = torch.nn.functional.interpolate(bands, n, mode="linear", align_corners=True)
    return filtered(x, 10 ** (curve[:, 0] / 20))


def changed_speed(x: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
    """Plays row b factor[b] times faster (pitch moves too), by cubic interpolation; silence fills the end."""
    n = x.shape[1]
    place = torch.arange(n, device=x.device, dtype=torch.float32) * factor[:, None]
    whole = place.floor()
    t, index = place - whole, whole.long()
    padded = torch.nn.functional.pad(x, (1, 3))
    at = lambda k: padded.gather(1, (index + k).clamp(max=n + 3))
    a, b, c, d = at(0), at(1), at(2), at(3)   # samples before, at, after and two after the place
    y = b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)))
    return y * (place <= n - 1)


def speech_level(x: torch.Tensor, rate: int) -> torch.Tensor:
    """RMS (n_batch, 1) of the 20 ms frames within 30 dB of the loudest, so that pauses do not count."""
    n = rate // 50
    power = x[:, :x.shape[1] // n * n].reshape(x.shape[0], -1, n).square().mean(2)
    active = (power > power.max(1, keepdim=True).values * 1e-3).float()
    return ((power * active).sum(1, keepdim=True) / active.sum(1, keepdim=True).clamp(min=1)).sqrt()


def mix(speech: torch.Tensor, noise: torch.Tensor, snr_db: torch.Tensor, rate: int) -> torch.Tensor:
    """Adds noise at snr_db (n_batch,) below the level of the speech."""
    level = noise.square().mean(1, keepdim=True).sqrt() + 1e-8
    return speech + noise / level * speech_level(speech, rate) * 10 ** (-snr_db[:, None] / 20)


def augment(x: torch.Tensor, noise: Noise, kinds=SEEN_NOISES, snr_db=(0.0, 30.0), p_room=0.5, p_noise=0.8, p_phone=0.08,
            gain_db=(-24.0, 0.0)) -> torch.Tensor:
    """The usual mixture for listening models: rooms, one kind of noise a quarter of the batch, microphone, gain."""
    n_batch, n = x.shape
    chosen = lambda p: (noise.uniform(n_batch, 1) < p).float()
    pick = chosen(p_room)
    x = pick * convolve(x, rooms(noise, n_batch)) + (1 - pick) * x
    background = torch.empty_like(x)
    for part in torch.arange(n_batch).chunk(4):   # so a batch holds up to four kinds
        kind = kinds[int(torch.randint(len(kinds), (1,), generator=noise.generator, device=noise.device))]
        background[part[0]:part[-1] + 1] = noise.draw(kind, len(part), n)
    snr = noise.uniform(n_batch, low=snr_db[0], high=snr_db[1])
    pick = chosen(p_noise)
    x = pick * mix(x, background, snr, noise.rate) + (1 - pick) * x
    x = coloured(x, noise)
    pick = chosen(p_phone)
    x = pick * telephone(x, noise.rate) + (1 - pick) * x
    gain = 10 ** (noise.uniform(n_batch, 1, low=gain_db[0], high=gain_db[1]) / 20)
    return (x / (x.abs().amax(1, keepdim=True) + 1e-6) * gain).clamp(-1, 1)
