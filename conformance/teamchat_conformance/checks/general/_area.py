"""The area that the modules of this package add their checks to, and the checks that monitors decide."""

from __future__ import annotations

from teamchat_conformance.registry import Area

area = Area("GEN", "Transport and JSON")

area.required("GEN-HTTP-01", "§4", "Whatever succeeds answers with status 200 exactly")
area.required("GEN-HTTP-02", "Introduction", "Answers are application/json, in UTF-8 if a charset is named")
area.required("GEN-HTTP-03", "Introduction", "Every answer's body is one JSON text in UTF-8 without a mark")
area.required("GEN-HTTP-04", "§2", "Whatever is an id is a string that is not empty")
area.required("GEN-HTTP-05", "§2", "Whatever is a time is a whole number of epoch milliseconds")
area.recommended(
    "GEN-FIELD-01", "§2", "Answers have no fields beside the specified ones, or they begin with x"
)
area.recommended("GEN-HLTH-04", "§4 Health", "GET /health answers 200 within 2 s while all else goes on")
area.monitor(*(f"GEN-HTTP-0{number}" for number in range(1, 6)), "GEN-FIELD-01", "GEN-HLTH-04")
