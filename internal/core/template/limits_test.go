package template

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"muster/internal/fleet"
)

// Texts that take quadratic time in a careless reader, at full length: a reader that is not linear does not come back
// from them within the time that a test has.
func TestLongTextsAreReadInLinearTime(t *testing.T) {
	const size = 1 << 20
	fill := func(before, unit, after string) string {
		return before + strings.Repeat(unit, (size-len(before)-len(after))/len(unit)) + after
	}
	for name, text := range map[string]string{
		"commas after a word":      fill("{a: t", ",", "\n}"),
		"commas after digits":      fill("{a: "+strings.Repeat("1", size/2)+"x", ",", "\n}"),
		"comment signs":            fill("[", "/*", ""),
		"names without value":      fill("", "a ", ""),
		"unclosed lists":           fill("", "[", ""),
		"lines of a text":          fill("{a:\n                    '''", "\n ", "'''}"),
		"quotes in a text":         fill("{a: '''", "''x", "'''}"),
		"escapes":                  fill(`["`, `\u00e4`, `"]`),
		"half surrogates":          fill(`["`, `\ud83d`, `"]`),
		"names that differ little": fill("{", "a:1,", "}"),
		"operators":                fill("1", "-1", ""),
		"brackets":                 fill("x", "[0]", ""),
		"undefined names":          fill("[", "x(),", "]"),
		"strings":                  fill("", `"a" `, ""),
		"comments":                 fill("", "#\n", "True"),
		"indentation":              fill("def template():\n", " ", "\n return 1"),
		"digits":                   fill("", "9", ""),
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Compile(text)
			if err == nil && p.Language() == HJSON {
				_, err = p.Evaluate(Input{}, Limits{})
			}
			var fault *fleet.Error
			if err != nil && (!errors.As(err, &fault) || fault.Code != fleet.CodeInvalid || len(fault.Details) > maxDetails) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestTextsThatAreNone(t *testing.T) {
	for _, test := range []struct {
		name, text   string
		code         fleet.Code
		line, column int
	}{
		{"too long", strings.Repeat(" ", fleet.MaxTemplateBytes) + "1", fleet.CodeTooLarge, 0, 0},
		{"no UTF-8", "{a:\n  \"\xff\"}", fleet.CodeInvalid, 2, 4},
		{"a NUL after the value", "{a: 1}\x00garbage", fleet.CodeInvalid, 1, 7},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Compile(test.text)
			var fault *fleet.Error
			if !errors.As(err, &fault) || fault.Code != test.code || fault.Details[0].Line != test.line ||
				fault.Details[0].Column != test.column {
				t.Errorf("got %+v", fault)
			}
		})
	}
}

// Files from Windows begin with a byte order mark and end their lines with \r\n.
func TestFilesFromWindows(t *testing.T) {
	for text, want := range map[string]string{
		"\ufeff{\r\n  a: b c\r\n  d: '''\r\n     x\r\n     y\r\n     '''\r\n}\r\n": `{"a":"b c","d":"x\ny"}`,
		"\ufeffdef template():\r\n  x = 1\r\n  return x\r\n":                       "1",
	} {
		p, err := Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.Evaluate(Input{}, Limits{}); err != nil || string(got.Value.JSON()) != want {
			t.Errorf("got %s, %v, want %s", got.Value.JSON(), err, want)
		}
	}
}

// Programs, fleets and configurations are shared by evaluations that run at once.
func TestEvaluateAtOnce(t *testing.T) {
	p, err := Compile("def template(device, config):\n  return [[d.label for d in devices('linux') if d != device], " +
		"config.options, tags()]")
	if err != nil {
		t.Fatal(err)
	}
	all, config := NewFleet(someDevices()), someConfig(t)
	want := map[string]string{"AAAA": `["beta"]`, "BBBB": `["alpha"]`, "CCCC": `["alpha","beta"]`}
	var wg sync.WaitGroup
	for i := range 30 {
		device := someDevices()[i%3]
		wg.Go(func() {
			got, err := p.Evaluate(Input{Device: device, Config: config, Fleet: all}, Limits{})
			if err != nil || string(got.Value.At(0).JSON()) != want[string(device.DeviceID)] {
				t.Errorf("%s: got %s, %v", device.DeviceID, got.Value.JSON(), err)
			}
		})
	}
	wg.Wait()
}

// A caller with a clock can stop a program, which then says where it was.
func TestStopFromOutside(t *testing.T) {
	p, err := Compile("def template():\n  n = 0\n  for i in range(1000000000):\n    n += i\n  return n")
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Evaluate(Input{}, Limits{Started: func(stop func(string)) { go stop("enough") }})
	var fault *fleet.Error
	if !errors.As(err, &fault) || fault.Message != "enough" || fault.Details[0].Line == 0 || fault.Traceback == "" {
		t.Errorf("got %+v", fault)
	}
}
