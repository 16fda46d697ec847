package api

import (
	"encoding/json"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

func TestTimeAlwaysHasThreeDigitsAndZ(t *testing.T) {
	east := time.FixedZone("", 3600)
	for name, one := range map[string]struct {
		at   time.Time
		want string
	}{
		"round second":    {time.Date(2026, 11, 20, 21, 11, 55, 0, time.UTC), `"2026-11-20T21:11:55.000Z"`},
		"trailing zero":   {time.Date(2026, 11, 20, 21, 11, 55, 670e6, time.UTC), `"2026-11-20T21:11:55.670Z"`},
		"finer than that": {time.Date(2026, 11, 20, 21, 11, 55, 670_999_999, time.UTC), `"2026-11-20T21:11:55.670Z"`},
		"another zone":    {time.Date(2026, 11, 20, 22, 11, 55, 1e6, east), `"2026-11-20T21:11:55.001Z"`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, marshal := range []func(any) ([]byte, error){json.Marshal,
				func(v any) ([]byte, error) { return jsonv2.Marshal(v) }} {
				got, err := marshal(Time{one.at})
				if err != nil || string(got) != one.want {
					t.Errorf("got %s, %v; want %s", got, err, one.want)
				}
				var back Time
				if err := json.Unmarshal(got, &back); err != nil || !back.Equal(one.at.Truncate(time.Millisecond)) {
					t.Errorf("%s is read as %s, %v", got, back, err)
				}
			}
		})
	}
}
