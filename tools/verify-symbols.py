#!/usr/bin/env python3
"""Whether a folder has the library that loaders expect: its families, its names, and no stub in its place.

    tools/verify-symbols.py --out-dir DIR --target NAME [--abi 3|4|12] [--server NAME | --no-server] [--json]

Writes DIR/OMNIVOICE_FUSE_VERIFY.json whatever comes of it; exit code 0 or 1. Symbols are read from the file's own
tables (ELF), so a library for another processor is as good.
"""
import argparse
import datetime
import json
from pathlib import Path
import struct
import sys

REPORT = "OMNIVOICE_FUSE_VERIFY.json"
LIBRARY_NAMES = ("libelizainference.so", "libelizainference.dylib", "elizainference.dll", "libelizainference.dll")
# What only the library without anything behind it has in it.
STUB_MARKS = (b"libelizainference-stub", b"not implemented in stub", b"unsupported in ABI-only build")
OV = """ov_version ov_last_error ov_audio_free ov_init_default_params ov_tts_default_params ov_init ov_free ov_log_set
        ov_synthesize ov_duration_sec_to_tokens""".split()
FAMILY = "eliza_inference_"
V3 = """abi_version create destroy mmap_acquire mmap_evict tts_synthesize asr_transcribe tts_stream_supported
        tts_synthesize_stream cancel_tts set_verifier_callback asr_stream_supported asr_stream_open asr_stream_feed
        asr_stream_partial asr_stream_finish asr_stream_close free_string vad_supported vad_open vad_process vad_reset
        vad_close""".split()
V4 = "encode_reference free_tokens".split()
V12 = """llm_stream_supported llm_stream_open llm_stream_next llm_mtp_supported llm_kv_quant_supported embed tokenize
        vision_supported describe_image kokoro_supported kokoro_load kokoro_synthesize kokoro_sample_rate
        llm_eot_supported llm_eot_score""".split()
REQUIRED = {3: V3, 4: V3 + V4, 12: V3 + V12}


class Refused(Exception):
    pass


def elf_exports(data):
    """The defined global and weak names of a 64-bit little-endian ELF file's dynamic symbols."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise Refused("the library is no 64-bit little-endian ELF file; its symbols cannot be read here")
    try:
        sections_at, = struct.unpack_from("<Q", data, 0x28)
        size, count = struct.unpack_from("<HH", data, 0x3A)
        sections = [struct.unpack_from("<IIQQQQIIQQ", data, sections_at + i * size) for i in range(count)]
        names = set()
        for _, kind, _, _, at, n_bytes, link, _, _, entry in sections:
            if kind != 11:  # SHT_DYNSYM
                continue
            strings = sections[link]
            table = data[strings[4]:strings[4] + strings[5]]
            for offset in range(at, at + n_bytes, entry):
                name, info, _, section, _, _ = struct.unpack_from("<IBBHQQ", data, offset)
                if section != 0 and info >> 4 in (1, 2, 10):
                    names.add(table[name:table.index(b"\0", name)].decode())
        return names
    except (struct.error, IndexError, ValueError, ZeroDivisionError) as e:
        raise Refused(f"the library's tables cannot be read: {e}") from e


def find_library(folder):
    for name in LIBRARY_NAMES:
        if (folder / name).is_file():
            return folder / name
    stubs = sorted(p.name for p in folder.glob("*elizainference_stub.*"))
    raise Refused(f"{folder}: there is none of {', '.join(LIBRARY_NAMES)}" + (f", only the stub {stubs[0]}" if stubs else ""))


def family(names, prefix):
    return sorted(name for name in names if name.startswith(prefix))


def verify(folder, abi, server):
    """The fields of the report; raises Refused."""
    library = find_library(folder)
    real = library.resolve()
    if real.stem.endswith("_stub"):
        raise Refused(f"{library.name} is the stub {real.name}")
    data = library.read_bytes()
    for mark in STUB_MARKS:
        if mark in data:
            raise Refused(f"{library.name} is a stub: it has '{mark.decode()}' in it")
    names = {name.removeprefix("_") for name in elf_exports(data)}
    llama, ov, own = family(names, "llama_"), family(names, "ov_"), family(names, FAMILY)
    for prefix, found in (("llama_", llama), ("ov_", ov)):
        if not found:
            raise Refused(f"{library.name} exports nothing of the family {prefix}*")
    missing = [name for name in OV + [FAMILY + name for name in REQUIRED[abi]] if name not in names]
    if missing:
        raise Refused(f"{library.name} lacks {', '.join(missing)}")
    if server and not any((folder / (server + ending)).is_file() for ending in ("", ".exe")):
        raise Refused(f"{folder}: there is no {server}")
    return {"library": str(library), "tool": "verify-symbols.py (ELF dynamic symbols)", "llamaSymbolCount": len(llama),
            "llamaReexported": False, "omnivoiceSymbolCount": len(ov), "omnivoiceSymbols": ov,
            "abiSymbolCount": len(own), "abiSymbols": own, "server": server and str(folder / server),
            "productServer": server and str(folder / server)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out-dir", type=Path, required=True, help="the folder of the library")
    parser.add_argument("--target", required=True, help="what was built for, for the report")
    parser.add_argument("--abi", type=int, choices=sorted(REQUIRED), default=3, help="the profile (default: 3)")
    parser.add_argument("--server", default="llama-server", help="the program that must lie beside it")
    parser.add_argument("--no-server", dest="server", action="store_const", const=None, help="none need")
    parser.add_argument("--json", action="store_true", help="print the report")
    given = parser.parse_args()
    report = {"ok": True, "target": given.target,
              "checkedAt": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")}
    place = given.out_dir / REPORT
    try:
        report.update(verify(given.out_dir, given.abi, given.server))
    except (Refused, OSError) as e:
        report.update(ok=False, report=str(place), error=str(e))
    text = json.dumps(report, indent=2) + "\n"
    try:
        place.write_text(text)
    except OSError as e:
        print(f"verify-symbols: {e}", file=sys.stderr)
        return 1
    if given.json:
        print(text, end="")
    elif not report["ok"]:
        print(f"verify-symbols: {report['error']}", file=sys.stderr)
    else:
        print(f"verify-symbols: {report['library']}: {report['abiSymbolCount']} {FAMILY}*, "
              f"{report['omnivoiceSymbolCount']} ov_*, {report['llamaSymbolCount']} llama_*")
    return 0 if report["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
