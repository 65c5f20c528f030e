"""Checks and scenarios as data: what may be declared, and that nothing is left undecided."""

from __future__ import annotations

import pytest

from teamchat_conformance import spec_map
from teamchat_conformance.registry import NEEDS, Area, Registry, load
from teamchat_conformance.run import Run


def an_area(name: str = "XX") -> Area:
    area = Area(name, "Something")
    area.required(f"{name}-ONE-01", "§4", "it is there")
    area.recommended(f"{name}-ONE-02", "D-01", "it is good", "pw")
    return area


async def nothing(run: Run) -> None:
    return None


@pytest.mark.parametrize("id", ["YY-ONE-01", "XX", "XX-one-01", "XX-ONE-01 ", "xx-ONE-01", "XX-ONE-"])
def test_an_id_of_another_area_or_of_another_form_is_refused(id: str) -> None:
    with pytest.raises(ValueError, match="no id of the area"):
        an_area().required(id, "§4", "anything")


def test_an_id_is_given_once() -> None:
    with pytest.raises(ValueError, match="XX-ONE-01 is declared twice"):
        an_area().recorded("XX-ONE-01", "§4", "anything")


def test_two_areas_cannot_give_the_same_id() -> None:
    with pytest.raises(ValueError, match="declared twice: XX-ONE-01, XX-ONE-02"):
        Registry([an_area(), an_area()])


def test_a_need_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="needs what nobody knows: luck"):
        an_area().required("XX-ONE-03", "§4", "anything", "luck")


def test_a_scenario_names_checks_that_are_declared() -> None:
    with pytest.raises(ValueError, match="no check is called XX-ONE-03"):
        an_area().scenario("XX-ONE-01", "XX-ONE-03")


def test_a_check_is_undecided_until_a_scenario_or_a_monitor_takes_it() -> None:
    area = an_area()
    assert Registry([area]).undecided() == {"XX-ONE-01", "XX-ONE-02"}
    area.scenario("XX-ONE-01")(nothing)
    assert Registry([area]).undecided() == {"XX-ONE-02"}
    area.monitor("XX-ONE-02")
    assert Registry([area]).undecided() == set()


def test_what_leaves_a_mark_is_played_after_everything_else() -> None:
    first, second = an_area("XX"), an_area("YY")
    first.scenario("XX-ONE-01", last=True)(nothing)
    first.scenario("XX-ONE-02")(nothing)
    second.scenario("YY-ONE-01")(nothing)
    ids = [play.ids for play in Registry([first, second]).plays()]
    assert ids == [("XX-ONE-02",), ("YY-ONE-01",), ("XX-ONE-01",)]


def test_every_check_of_the_suite_is_decided_by_a_scenario_or_a_monitor() -> None:
    assert load().undecided() == set()


def test_every_check_of_the_suite_says_where_it_stands_and_what_must_be_seen() -> None:
    for check in load().checks.values():
        assert check.spec, check.id
        assert len(check.text) > 10, check.id
        assert "\n" not in check.text, check.id
        assert len(check.text) < 200, check.id


def test_a_decision_makes_a_check_required_only_where_the_map_says_why() -> None:
    binding = {one.section for one in spec_map.load().statements if one.is_decision}
    for check in load().checks.values():
        if check.level == "required" and check.spec.startswith("D-"):
            assert check.spec in binding, check.id


def test_no_two_checks_of_an_area_say_the_same() -> None:
    for area in load().areas:
        said: dict[tuple[str, str], str] = {}
        for check in area.checks.values():
            same = said.setdefault((check.spec, check.text), check.id)
            assert same == check.id, f"{same} and {check.id}"


def test_scenarios_need_only_what_is_known() -> None:
    for play in load().plays():
        assert set(play.needs) <= NEEDS.keys(), play.name
