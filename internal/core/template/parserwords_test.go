package template

import (
	"errors"
	"math"
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

// What stands around a fault is read in linear time: four times the text takes about four times as long, and sixteen
// times as long if each line is read again for each other one. The best of several attempts counts, since the machine
// does other work, too.
func TestLongTextsWithAFaultAreExplainedSoon(t *testing.T) {
	const longer, most, attempts = 4, 8, 20
	for name, c := range map[string]struct {
		part  string
		count int
	}{
		"comments": {"# x\n", 15_000}, "lines": {"a = 1\n", 10_000}, "one line": {"a, ", 20_000}, "texts": {`"(" `, 450},
	} {
		short, long := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
		for attempt := 0; attempt < attempts && (attempt == 0 || long > most*short); attempt++ {
			short = min(short, timeOfFault(t, strings.Repeat(c.part, c.count)))
			long = min(long, timeOfFault(t, strings.Repeat(c.part, longer*c.count)))
		}
		if long > most*short {
			t.Errorf("%s: %d parts take %v, and %d parts %v", name, c.count, short, longer*c.count, long)
		}
	}
}

// timeOfFault returns how long it takes to explain the fault that stands behind a text.
func timeOfFault(t *testing.T, text string) time.Duration {
	t.Helper()
	text = "def template(device):\n    return 1\n\n" + text + "\nb = (1 2\n"
	started := time.Now()
	if _, err := Compile(text); err == nil {
		t.Fatal("no error")
	}
	return time.Since(started)
}
