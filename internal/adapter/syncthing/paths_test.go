package syncthing

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestTheDaemonsOwnDirectories(t *testing.T) {
	for name, tc := range map[string]struct {
		answer string
		want   []string
	}{
		"2.1": {`{"config":"/var/st/config.xml","certFile":"/var/st/cert.pem","keyFile":"/var/keys/key.pem","httpsKeyFile":"/var/st/https-key.pem",
			"database":"/data/index-v2","guiAssets":"/var/st/gui","logFile":"-",
			"panicLog":"/var/st/panic-%{timestamp}.log","defFolder":"/home/x/Sync",
			"later":{"not":"text"},"blank":""}`, []string{"/data/index-v2", "/var/keys", "/var/st", "/var/st/gui", "/var/st/panic-%{timestamp}.log"}},
		"Windows":      {`{"config":"C:\\Users\\x\\Syncthing\\config.xml"}`, []string{`C:\Users\x\Syncthing`}},
		"nothing":      {`{}`, nil},
		"no object":    {`["/etc"]`, nil},
		"no JSON":      {`<html>`, nil},
		"far too many": {`{"a0":"/x"` + many() + `}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, fakeOptions{})
			c := New(f.target(), Options{})
			defer c.Close()
			f.answer("/rest/system/paths", tc.answer)
			got, err := c.Directories(t.Context())
			if err != nil || !slices.Equal(got, tc.want) {
				t.Errorf("got %q, %v, want %q", got, err, tc.want)
			}
		})
	}
}

func TestADaemonThatDoesNotSayWhereItsFilesAre(t *testing.T) {
	f := newFake(t, fakeOptions{})
	c := New(f.target(), Options{})
	defer c.Close()
	f.handle("/rest/system/paths", http.NotFound)
	if got, err := c.Directories(t.Context()); err != nil || got != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func many() string {
	var text strings.Builder
	for i := range maxPaths + 1 {
		fmt.Fprintf(&text, `,"b%d":"/x%d"`, i, i)
	}
	return text.String()
}
