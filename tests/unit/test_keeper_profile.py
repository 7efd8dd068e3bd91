"""What a browser leaves in the temporary directory goes with its profile."""

from pathlib import Path

import pytest

from replaywright.keeper.chromium.profile import delete_profile


@pytest.mark.parametrize(
    ("name", "goes"),
    [
        ("org.chromium.Chromium.00Xn2b", True),
        (".org.chromium.Chromium.00Xn2b", True),
        ("com.google.Chrome.a1B2c3", True),
        (".com.google.Chrome.a1B2c3", True),
        ("documents", False),
    ],
)
def test_the_directory_of_a_profiles_socket_is_deleted_with_it_and_no_other(
    tmp_path: Path, name: str, goes: bool
) -> None:
    profile, folder = tmp_path / "profile", tmp_path / name
    for each in (profile, folder):
        each.mkdir()
    (folder / "SingletonSocket").touch()
    (profile / "SingletonSocket").symlink_to(folder / "SingletonSocket")

    delete_profile(profile)

    assert (profile.exists(), folder.exists()) == (False, not goes)


def test_a_profile_that_was_never_used_is_deleted_all_the_same(tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    profile.mkdir()

    delete_profile(profile)

    assert not profile.exists()
