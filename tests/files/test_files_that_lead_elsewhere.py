"""An AnnData file that takes parts of other files is refused before any of them is read."""

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
from stored import COUNTS, SELECTION

from ufselect.files import read_table, write_table

SECRET = b"root:secret:0:0:"


@pytest.fixture
def folder(tmp_path):
    """A folder with a file in AnnData's format, another HDF5 file and one with a secret."""
    data = anndata.AnnData(
        COUNTS, obs=pd.DataFrame({"kind": list("tbtb")}, index=list("abcd")), var=pd.DataFrame(index=["g1", "g2", "g3"])
    )
    data.layers["raw"] = COUNTS
    data.obsm["X_pca"] = np.ones((4, 2))
    data.uns["deep"] = {"deeper": {"note": "kept"}}
    data.raw = data
    data.write_h5ad(tmp_path / "cells.h5ad", convert_strings_to_categoricals=False)
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["secret"] = COUNTS
        file["group/secret"] = COUNTS
    (tmp_path / "passwords").write_bytes(SECRET)
    return tmp_path


def link(file, place, folder):
    file[place] = h5py.ExternalLink(str(folder / "other.h5"), "/secret")


def soft_link(file, place, folder):
    file["bridge"] = h5py.ExternalLink(str(folder / "other.h5"), "/group")
    file[place] = h5py.SoftLink("/bridge/secret")


def external_storage(file, place, folder):
    outside = [(str(folder / "passwords"), 0, len(SECRET))]
    file.create_dataset(place, (len(SECRET),), np.uint8, external=outside)


def virtual(file, place, folder):
    layout = h5py.VirtualLayout(shape=COUNTS.shape, dtype=float)
    layout[:] = h5py.VirtualSource(str(folder / "other.h5"), "secret", shape=COUNTS.shape)
    file.create_virtual_dataset(place, layout)


PLACES = ["X", "obs/kind", "layers/raw", "obsm/X_pca", "uns/deep/deeper/note", "uns/new", "raw/X", "mine"]
DETOURS = [link, soft_link, external_storage, virtual]


def craft(folder, place, detour):
    path = folder / "cells.h5ad"
    with h5py.File(path, "a") as file:
        if place in file:
            del file[place]
        detour(file, place, folder)
    return path


@pytest.mark.parametrize("detour", DETOURS)
@pytest.mark.parametrize("place", PLACES)
def test_what_is_in_another_file_is_named_and_not_read(folder, place, detour):
    path = craft(folder, place, detour)
    named = "bridge" if detour is soft_link else place
    other = "passwords" if detour is external_storage else "other.h5"
    with pytest.raises(
        ValueError, match=rf"cells\.h5ad has '{named}' in another file, '.*{other}', which is not read;"
    ):
        read_table(path)


@pytest.mark.parametrize("detour", DETOURS)
def test_files_of_old_versions_and_those_changed_since_they_were_read_are_checked_as_well(folder, detour):
    table = read_table(folder / "cells.h5ad")
    path = craft(folder, "uns/new", detour)
    with pytest.raises(ValueError, match=r"cells\.h5ad has '.*' in another file"):
        write_table(folder / "out.h5ad", table, SELECTION)
    assert not (folder / "out.h5ad").exists()
    with h5py.File(path, "a") as file:
        del file.attrs["encoding-type"], file.attrs["encoding-version"]
    with pytest.raises(ValueError, match="in another file"):
        read_table(path)


def test_a_reference_to_an_object_that_no_link_leads_to_is_refused(folder):
    path = folder / "cells.h5ad"
    with h5py.File(path, "a") as file:
        file["group/first"] = 0
        external_storage(file, "group/last", folder)
        file["X"].attrs["categories"] = file["group/last"].ref  # as old versions refer to categories
    content = bytearray(path.read_bytes())
    links_of_group = content.rindex(b"SNOD\x01\x00\x02\x00")
    content[links_of_group + 6] = 1  # of two links, the last one is not found anymore
    path.write_bytes(content)
    with h5py.File(path) as file:
        assert list(file["group"]) == ["first"]
        assert file[file["X"].attrs["categories"]][()].tobytes() == SECRET
    with pytest.raises(ValueError, match=r"cells\.h5ad refers to a hidden object in 'X', which is not read"):
        read_table(path)


def test_links_and_virtual_datasets_within_a_file_are_fine(folder):
    path = folder / "cells.h5ad"
    layout = h5py.VirtualLayout(shape=COUNTS.shape, dtype=float)
    layout[:] = h5py.VirtualSource(".", "X", shape=COUNTS.shape)
    with h5py.File(path, "a") as file:
        file["soft"] = h5py.SoftLink("/X")
        file["lost"] = h5py.SoftLink("/nowhere")
        file["hard"] = file["obs"]
        file["obs/cycle"] = file["obs"]
        file.create_virtual_dataset("virtual", layout)
        file["X"].attrs["about"] = file["var"].ref
    write_table(folder / "out.h5ad", read_table(path), SELECTION)
    with h5py.File(folder / "out.h5ad") as file:
        assert file["var/ufselect_rank"][:].tolist() == [2, 3, 1]
