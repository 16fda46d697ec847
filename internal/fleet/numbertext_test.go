package fleet

import (
	"math"
	"testing"
)

func TestALargeNumberIsWrittenInGroupsEverywhere(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 8860: "8,860", 100_000: "100,000",
		1_234_567: "1,234,567", -1: "-1", -999: "-999", -1000: "-1,000", -12_345: "-12,345",
		math.MinInt64: "-9,223,372,036,854,775,808"} {
		if got := NumberText(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
	if one, many := Counted(
		1,
		"directory",
		"directories",
	), Counted(
		8860,
		"directory",
		"directories",
	); one != "1 directory" ||
		many != "8,860 directories" {
		t.Errorf("got %q and %q", one, many)
	}
}
