package app

import (
	"net"
	"os"
	"slices"
	"testing"
)

// A server that listens for others printed its machine's name for agents, and answered 421 to who used it elsewhere.
func TestAServerOnEveryAddressIsCalledByTheNameThatItPrints(t *testing.T) {
	own, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	given := []string{"muster.example"}
	for _, c := range []struct {
		at    string
		given []string
		names []string
		line  string
	}{
		{"[::]:2525", nil, []string{own}, net.JoinHostPort(own, "2525")},
		{"0.0.0.0:2525", given, []string{"muster.example", own}, "muster.example:2525"},
		{"127.0.0.1:2525", nil, nil, "127.0.0.1:2525"}, // a page of another site may have its name lead there
		{"192.0.2.7:2525", given, given, "192.0.2.7:2525"},
	} {
		at, err := net.ResolveTCPAddr("tcp", c.at)
		if err != nil {
			t.Fatal(err)
		}
		a := &App{o: Options{AllowHosts: c.given}}
		if names, line := a.namesAt(at), a.nameOf(at); !slices.Equal(names, c.names) || line != c.line {
			t.Errorf("%s: got %q and %q, want %q and %q", c.at, names, line, c.names, c.line)
		}
	}
}
