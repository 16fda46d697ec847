package fleet

import "testing"

func TestIDsInTextsBecomeNames(t *testing.T) {
	nas, other := DeviceIDOf([32]byte{1}), DeviceIDOf([32]byte{2})
	label := func(id DeviceID) string {
		if id == nas {
			return "nas"
		}
		return ""
	}
	mistyped := "A" + string(nas)[1:]
	if mistyped == string(nas) {
		mistyped = "B" + mistyped[1:]
	}
	for text, want := range map[string]string{
		"":                                "",
		"all is well":                     "all is well",
		"a-b - c--":                       "a-b - c--",
		string(nas):                       "nas (" + nas.Short() + ")",
		"wave 1: " + string(nas) + " is ": "wave 1: nas (" + nas.Short() + ") is ",
		"x-" + string(other) + ", " + string(nas): "x-" + other.Short() + ", nas (" + nas.Short() + ")",
		"folders.a-b.devices." + string(nas):      "folders.a-b.devices.nas (" + nas.Short() + ")",
		mistyped:                                  mistyped,
		string(nas)[:60]:                          string(nas)[:60],
	} {
		if got := WithNames(text, label); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
