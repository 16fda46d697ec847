package template

import (
	"errors"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

const goodProgram = `def names(devices, most=3):
    # All but the hidden ones.
    return [d.label for d in devices if "hidden" not in d.tags][:most]

def template(device):
    if (device.os == "linux" and
            device.vars.get("path", "")):  # a comment
        return {"path": device.vars["path"], "devices": [{"deviceID": d.deviceID} for d in devices(tag="hub")]}
    elif device.os == "windows":
        x, y = 1, -2
        x += y * (3 + 4)
    else:
        x = sorted([1, 2], key=lambda n: -n)[0] if device.label else None
    for name in names(devices()):
        x = not x or name
    return x
`

// A word or sign that is left out or doubled is never said in words of the parser.
func TestEverySlipIsSaidInReadersWords(t *testing.T) {
	for _, found := range tokens.FindAllStringIndex(goodProgram, -1) {
		before, token, after := goodProgram[:found[0]], goodProgram[found[0]:found[1]], goodProgram[found[1]:]
		for _, text := range []string{before + after, before + token + " " + token + after, before} {
			_, err := Compile(text)
			var fault *fleet.Error
			if !errors.As(err, &fault) {
				continue
			}
			said := fault.Message + "\n" + fault.Hint
			if found := parsersWords.FindString(said); found != "" || fault.Hint == "" {
				t.Errorf("after %q, at %q: got %q in\n%s", before[max(0, len(before)-30):], token, found, said)
			}
		}
	}
}

// What stands around a fault is read in linear time.
func TestLongTextsWithAFaultAreExplainedSoon(t *testing.T) {
	for name, text := range map[string]string{
		"comments": strings.Repeat("# x\n", 60_000), "lines": strings.Repeat("a = 1\n", 40_000),
		"one line": strings.Repeat("a, ", 80_000), "texts": strings.Repeat(`"(" `, 300),
	} {
		started := time.Now()
		if _, err := Compile("def template(device):\n    return 1\n\n" + text + "\nb = (1 2\n"); err == nil {
			t.Errorf("%s: no error", name)
		}
		if took := time.Since(started); took > 5*time.Second {
			t.Errorf("%s took %s", name, took)
		}
	}
}
