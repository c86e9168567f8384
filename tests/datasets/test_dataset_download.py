"""Sets fetched from OpenML, here from a server of our own that answers as OpenML does."""

import dataclasses
import hashlib
import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

import numpy as np
import pytest
from sklearn.datasets import _openml

from ufselect.datasets import content_digest, describe_dataset, load_dataset, loaders, registry
from ufselect.datasets.registry import PublicSet

X = np.array([[0.0, 6.0, 0.1], [1.0, 0.0, -2.5], [0.0, 2.0, 1e-7], [3.0, 6.0, 4.0]])
CLASSES = ["ten", "one", "one", "ten"]
PIXELS = ("0", "1", "3"), ("6", "0", "2")  # as declared; their places in the list are not their values
ARFF_PATH = "/data/v1/download/7"
SEARCH_PATH = "/api/v1/json/data/list/data_name/tiny-pixels/limit/2/data_version/1"


def arff():
    names = [f"@ATTRIBUTE pixel{j} {{{','.join(values)}}}" for j, values in enumerate(PIXELS)]
    names += ["@ATTRIBUTE ink REAL", "@ATTRIBUTE class {one,ten}"]
    rows = [f"{a:.0f},{b:.0f},{c!r},{label}" for (a, b, c), label in zip(X.tolist(), CLASSES, strict=True)]
    return "\n".join(["@RELATION tiny", *names, "@DATA", *rows, ""]).encode()


def features():
    kinds = {"pixel0": "nominal", "pixel1": "nominal", "ink": "numeric", "class": "nominal"}
    never = {"is_ignore": "false", "is_row_identifier": "false", "number_of_missing_values": "0"}
    return [
        {"index": str(place), "name": name, "data_type": kind, "is_target": str(name == "class").lower()} | never
        for place, (name, kind) in enumerate(kinds.items())
    ]


def answers_of_openml(base):
    description = {
        "id": "3",
        "name": "tiny-pixels",
        "version": "1",
        "description": "a test",
        "format": "ARFF",
        "status": "active",
        "file_id": "7",
        "url": base + ARFF_PATH,
        "md5_checksum": hashlib.md5(arff()).hexdigest(),
    }
    found = {"did": 3, "name": "tiny-pixels", "version": 1, "status": "active"}
    answers = {
        SEARCH_PATH: {"data": {"dataset": [found]}},
        "/api/v1/json/data/3": {"data_set_description": description},
        "/api/v1/json/data/features/3": {"data_features": {"feature": features()}},
        "/api/v1/json/data/qualities/3": {
            "data_qualities": {"quality": [{"name": "NumberOfInstances", "value": str(len(X))}]}
        },
    }
    return {path: json.dumps(answer).encode() for path, answer in answers.items()} | {ARFF_PATH: arff()}


class OpenML:
    """A server whose answers may be spoilt, and which remembers what it was asked."""

    def __init__(self):
        self.asked = []
        self.status = {}
        openml = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                openml.asked.append(self.path)
                body = openml.answers.get(self.path, b"")
                self.send_response(openml.status.get(self.path, 200 if body else 404))
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self._server.server_port}"
        self.answers = answers_of_openml(self.base)
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def stop(self):
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()


@pytest.fixture
def openml(monkeypatch):
    """A server that scikit-learn takes for OpenML."""
    server = OpenML()
    for name, value in vars(_openml).items():
        if isinstance(value, str) and urlsplit(value).netloc.endswith("openml.org"):
            monkeypatch.setattr(_openml, name, server.base + urlsplit(value).path)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "127.0.0.1")
    yield server
    server.stop()


@pytest.fixture
def tiny(monkeypatch, folder, openml):
    """A known set that is on OpenML and not in the folder."""
    size = (*X.shape, 2)
    public = PublicSet("TINY", *size, (1, 2), "a test", "the attic", content_digest(X, CLASSES), "tiny-pixels", 1)
    monkeypatch.setitem(registry.PUBLIC_SETS, "TINY", public)
    return public


def files_in(folder):
    return sorted(path.name for path in folder.rglob("*"))


def test_a_missing_set_is_fetched_and_its_nominal_pixels_are_numbers(tiny, folder):
    dataset = load_dataset("TINY")
    assert dataset.name == "TINY"
    np.testing.assert_array_equal(dataset.X, X)
    np.testing.assert_array_equal(dataset.y, [0, 1, 1, 0])


def test_what_was_fetched_is_read_offline_ever_after(tiny, folder, openml):
    first = load_dataset("TINY")
    assert files_in(folder) == ["TINY.npz"]
    openml.stop()
    assert load_dataset("TINY") is first
    loaders._read_once.cache_clear()
    np.testing.assert_array_equal(load_dataset("TINY").X, X)


def test_a_file_at_hand_is_read_without_asking_anybody(tiny, folder, openml):
    np.savez(folder / "TINY.npz", X=X, y=CLASSES)
    load_dataset("TINY")
    assert openml.asked == []


def test_the_folder_is_created_if_it_does_not_exist(tiny, folder, monkeypatch):
    monkeypatch.setenv("UFSELECT_DATA", str(folder / "größer" / "数据"))
    load_dataset("TINY")
    assert (folder / "größer" / "数据" / "TINY.npz").is_file()


@pytest.mark.parametrize("path", [SEARCH_PATH, ARFF_PATH])
def test_an_answer_of_404_is_a_set_not_at_hand(path, tiny, folder, openml):
    del openml.answers[path]
    with pytest.raises(FileNotFoundError, match=r"TINY is not available.*the attic.*HTTP Error 404") as failure:
        load_dataset("TINY")
    assert isinstance(failure.value.__cause__.__cause__, HTTPError)
    assert openml.asked.count(path) > 1
    assert files_in(folder) == []


def test_a_set_that_openml_does_not_know_is_not_at_hand(tiny, folder, openml):
    openml.status = dict.fromkeys((SEARCH_PATH, f"{SEARCH_PATH}/status/deactivated"), 412)
    with pytest.raises(FileNotFoundError, match="tiny-pixels with version 1 not found"):
        load_dataset("TINY")


def test_without_a_server_the_set_is_not_at_hand(tiny, folder, openml):
    openml.stop()
    with pytest.raises(FileNotFoundError, match=r"UFSELECT_DATA.*could not be downloaded from openml\.org") as failure:
        load_dataset("TINY")
    assert isinstance(failure.value.__cause__.__cause__, URLError)
    assert files_in(folder) == []


def test_after_a_failure_it_is_fetched_anew(tiny, folder, openml):
    answer = openml.answers.pop(ARFF_PATH)
    with pytest.raises(FileNotFoundError):
        load_dataset("TINY")
    openml.answers[ARFF_PATH] = answer
    np.testing.assert_array_equal(load_dataset("TINY").X, X)


@pytest.mark.parametrize(
    ("path", "answer", "message"),
    [
        (ARFF_PATH, arff()[:-9], "md5 checksum"),
        (SEARCH_PATH, b"<html>Please log in to this network</html>", "Expecting value"),
        (SEARCH_PATH, b'{"data": {}}', "dataset"),
    ],
    ids=["cut short", "no JSON", "other JSON"],
)
def test_a_garbled_answer_is_a_set_not_at_hand(path, answer, message, tiny, folder, openml):
    openml.answers[path] = answer
    with pytest.raises(FileNotFoundError, match=f"TINY is not available.*{message}"):
        load_dataset("TINY")
    assert files_in(folder) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [(b"{0,1,3}", b"{0,1,3,red}", "could not convert string to float: 'red'"), (b"-2.5", b"?", "values are missing")],
)
def test_values_that_are_not_numbers_are_named(old, new, message, tiny, folder, openml):
    content = arff().replace(old, new)
    checksums = [hashlib.md5(data).hexdigest().encode() for data in (arff(), content)]
    openml.answers[ARFF_PATH] = content
    openml.answers["/api/v1/json/data/3"] = openml.answers["/api/v1/json/data/3"].replace(*checksums)
    with pytest.raises(FileNotFoundError, match=message):
        load_dataset("TINY")


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"sha256": "0" * 64}, "SHA-256 000"),
        ({"n_samples": 5}, "TINY has 5 samples, 3 features and 2 classes, but got 4 samples"),
        ({"n_classes": 3}, "but got 4 samples, 3 features and 2 classes"),
    ],
)
def test_another_dataset_is_refused_and_not_saved_unless_it_is_not_verified(facts, message, tiny, folder, monkeypatch):
    monkeypatch.setitem(registry.PUBLIC_SETS, "TINY", dataclasses.replace(tiny, **facts))
    with pytest.raises(ValueError, match=f"tiny-pixels, version 1, on OpenML .*{message}.*verify=False"):
        load_dataset("TINY")
    assert files_in(folder) == []
    np.testing.assert_array_equal(load_dataset("TINY", verify=False).X, X)
    assert files_in(folder) == ["TINY.npz"]
    with pytest.raises(ValueError, match=message):
        load_dataset("TINY")


def test_a_folder_that_cannot_be_created_is_an_error_before_the_download(tiny, folder, openml, monkeypatch):
    (folder / "file").touch()
    monkeypatch.setenv("UFSELECT_DATA", str(folder / "file" / "sets"))
    with pytest.raises(OSError, match=r"because .*sets is not writable.*UFSELECT_DATA"):
        load_dataset("TINY")
    assert openml.asked == []


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() == 0, reason="nothing is write-protected for root")
def test_a_folder_that_is_not_writable_is_an_error_before_the_download(tiny, folder, openml):
    folder.chmod(0o500)
    try:
        with pytest.raises(OSError, match=r"is not writable.*UFSELECT_DATA"):
            load_dataset("TINY")
    finally:
        folder.chmod(0o700)
    assert openml.asked == []


def test_mfea_is_asked_for_by_its_name_and_version_on_openml(folder, openml):
    public = describe_dataset("MFEA")
    with pytest.raises(FileNotFoundError, match="mfeat-pixel could not be downloaded"):
        load_dataset("MFEA")
    assert f"data_name/{public.openml_name}/limit/2/data_version/{public.openml_version}" in openml.asked[0]
