//muster:needs daemons
package daemon

import "testing"

func TestSetElementLeavesOne(t *testing.T) {
	const want = "<options><listenAddress>tcp://127.0.0.1:1</listenAddress></options>"
	for name, text := range map[string]string{
		"none": "<options></options>",
		"one":  "<options><listenAddress>default</listenAddress></options>",
		"three": "<options><listenAddress>tcp://0.0.0.0:2</listenAddress><listenAddress>dynamic+x</listenAddress>" +
			"<listenAddress>quic://0.0.0.0:2</listenAddress></options>",
	} {
		t.Run(name, func(t *testing.T) {
			if got := setElement(text, "options", "listenAddress", "tcp://127.0.0.1:1"); got != want {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestSetElementTouchesNothingOutsideItsSection(t *testing.T) {
	const text = "<gui><address>a</address></gui><device><address>dynamic</address></device>"
	const want = "<gui><address>b</address></gui><device><address>dynamic</address></device>"
	if got := setElement(text, "gui", "address", "b"); got != want {
		t.Errorf("got %s", got)
	}
}
