package contract

import (
	"bufio"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

var events = []Check{
	{"a mask's numbers begin with its first request", Writes, func(p *Probe) {
		p.MustDo("PATCH", "/rest/config/options", `{}`)
		mask := "ConfigSaved,LoginAttempt"
		if got := p.Poll(mask, "0", "&timeout=0"); len(got) != 0 {
			p.Fatalf("a new mask knows %s", types(got))
		}
		p.MustDo("PATCH", "/rest/config/options", `{}`)
		p.MustDo("PATCH", "/rest/config/options", `{}`)
		var got []Event
		p.Until("two events are there", func() error {
			if got = p.Poll(mask, "0", "&timeout=1"); len(got) < 2 {
				return fmt.Errorf("got %s", types(got))
			}
			return nil
		})
		if got[0].ID != "1" || got[1].ID != "2" {
			p.Errorf("numbers are %s and %s, want 1 and 2", got[0].ID, got[1].ID)
		}
		if first, err := strconv.Atoi(got[0].Global); err != nil || first < 3 {
			p.Errorf("globalID is %s, want one that counts all events", got[0].Global)
		}
		if same := p.Poll("LoginAttempt, ConfigSaved,NoSuchEvent", "1", "&timeout=1"); len(same) == 0 || same[0].ID != "2" {
			p.Errorf("the same set in another order has numbers of its own: %v", same)
		}
		if other := p.Poll("ConfigSaved,LoginAttempt,Failure", "0", "&timeout=0"); len(other) != 0 {
			p.Errorf("another mask knows %s", types(other))
		}
	}},
	{"limit keeps the newest, since is left out", Writes, func(p *Probe) {
		mask := "ConfigSaved,ItemStarted"
		p.Poll(mask, "0", "&timeout=0")
		for range 5 {
			p.MustDo("PATCH", "/rest/config/options", `{}`)
		}
		p.Until("five events are there", func() error {
			if got := p.Poll(mask, "4", "&timeout=1"); len(got) == 0 || got[0].ID != "5" {
				return fmt.Errorf("got %v", got)
			}
			return nil
		})
		p.Until("limit 0 gives all, limit 2 the newest two", func() error { // one more may come between the two calls
			all := p.Poll(mask, "0", "&timeout=0&limit=0")
			got := p.Poll(mask, "1", "&timeout=0&limit=2")
			if n := len(all); n < 5 || len(got) != 2 || got[0].ID != all[n-2].ID || got[1].ID != all[n-1].ID {
				return fmt.Errorf("got %v of %v", got, all)
			}
			return nil
		})
	}},
	{"a number that is too large waits in silence", Writes, func(p *Probe) {
		mask := "ConfigSaved,ItemFinished"
		p.Poll(mask, "0", "&timeout=0")
		p.MustDo("PATCH", "/rest/config/options", `{}`)
		begun := time.Now()
		if got := p.Poll(mask, "1000", "&timeout=2"); len(got) != 0 {
			p.Errorf("got %s", types(got))
		}
		if took := time.Since(begun); took < 2*time.Second {
			p.Errorf("the answer came after %s, want 2 s", took)
		}
	}},
	{"a mask remembers a thousand events", Spoils, func(p *Probe) {
		mask := "ConfigSaved,ItemStarted"
		p.Poll(mask, "0", "&timeout=0")
		for range 1010 {
			p.MustDo("PATCH", "/rest/config/ldap", `{}`)
		}
		p.Until("all events are there", func() error {
			got := p.Poll(mask, "0", "&timeout=1")
			if last := got[len(got)-1].ID; last != "1010" {
				return fmt.Errorf("the last event is %s", last)
			}
			if len(got) != 1000 || got[0].ID != "11" {
				p.Fatalf("got %d events from %s on, want 1000 from 11 on", len(got), got[0].ID)
			}
			return nil
		})
	}},
	{"the answer to a poll begins before there is an event", Reads, func(p *Probe) {
		c := dialKept(p, "https")
		request, err := http.NewRequest("GET", "http://"+p.HostPort()+"/rest/events?events=Failure&timeout=3600", nil)
		if err != nil {
			p.Fatal(err)
		}
		request.Header.Set("X-API-Key", p.Key())
		if err := request.Write(c); err != nil {
			p.Fatal(err)
		}
		if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
			p.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(c), request)
		if err != nil {
			p.Fatal(err)
		}
		defer response.Body.Close()
		defer c.Close() // first: closing the body would wait for its end
		if got := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK ||
			got != "application/json; charset=utf-8" {
			p.Errorf("got %d, %s", response.StatusCode, got)
		}
	}},
	{"a change is told twice, no change once", Writes, func(p *Probe) {
		p.Quiet("ConfigSaved,DeviceResumed") // of what earlier checks changed
		more := p.Watch("ConfigSaved,DeviceResumed")
		doc := p.Get("/rest/config")
		p.MustDo("PUT", "/rest/config", string(doc.JSON()))
		p.MustDo("PATCH", "/rest/config/options", `{"maxSendKbps":21}`)
		all := more("three times ConfigSaved", func(e []Event) bool { return len(e) >= 3 })
		p.Is(all[0].Data, "options.maxSendKbps", "0")
		p.Is(all[1].Data, "options.maxSendKbps", "21")
		p.Is(all[2].Data, "options.maxSendKbps", "21")
		p.Is(all[1].Data, "gui.apiKey", `"`+p.key+`"`)
		if got := p.Poll("ConfigSaved,DeviceResumed", all[2].ID, "&timeout=7"); len(got) != 0 {
			p.Errorf("after that came %s", types(got))
		}
	}},
	{"another listen address is told", Writes, func(p *Probe) {
		more := p.Watch("ListenAddressesChanged")
		p.MustDo("PATCH", "/rest/config/options", `{"listenAddresses":["tcp://127.0.0.1:0"]}`)
		all := more("ListenAddressesChanged", func(e []Event) bool { return len(e) > 0 })
		p.Is(all[len(all)-1].Data, "address.Scheme", `"tcp"`)
	}},
	{"devices that are paused and resumed", Writes, func(p *Probe) {
		more := p.Watch("DevicePaused,DeviceResumed")
		p.MustDo("PUT", path("devices", stranger), `{"deviceID":"`+stranger+`"}`)
		p.MustDo("PATCH", path("devices", stranger), `{"paused":true}`)
		p.MustDo("PATCH", path("devices", stranger), `{"paused":false}`)
		all := more("two events", func(e []Event) bool { return len(e) >= 2 })
		if got := types(all); !slices.Equal(got, []string{"DevicePaused", "DeviceResumed"}) {
			p.Errorf("got %s", got)
		}
		p.Is(all[0].Data, "device", `"`+stranger+`"`)
	}},
	{"a restart begins everything anew", Spoils, func(p *Probe) {
		mask := "ConfigSaved,ItemStarted"
		p.Poll(mask, "0", "&timeout=0")
		for range 3 {
			p.MustDo("PATCH", "/rest/config/options", `{}`)
		}
		p.MustDo("PATCH", "/rest/config/options", `{"maxSendKbps":5}`)
		started := p.Get("/rest/system/status").Get("startTime").Str()
		p.Until("a second passes: startTime has no fractions", func() error {
			if p.Get("/rest/system/status").Get("uptime").Str() == "0" {
				return fmt.Errorf("uptime 0")
			}
			return nil
		})
		if got := p.MustDo("POST", "/rest/system/restart", ""); got != "{\"ok\": \"restarting\"}\n" {
			p.Errorf("got %q", got)
		}
		p.Until("the daemon is back", func() error {
			if again := p.Get("/rest/system/status").Get("startTime").Str(); again == started {
				return fmt.Errorf("startTime %s", again)
			}
			return nil
		})
		p.Is(p.Get("/rest/config"), "options.maxSendKbps", "5")
		if got := p.Poll(mask, "0", "&timeout=0"); len(got) != 0 {
			p.Errorf("the new daemon knows %s", types(got))
		}
		p.MustDo("PATCH", "/rest/config/options", `{}`)
		if got := p.Poll(mask, "4", "&timeout=1"); len(got) != 0 {
			p.Errorf("an old number gets %v", got)
		}
		p.Until("numbers begin at 1", func() error {
			if got := p.Poll(mask, "0", "&timeout=1"); len(got) == 0 || got[0].ID != "1" {
				return fmt.Errorf("got %v", got)
			}
			return nil
		})
		got := p.Poll("", "0", "&timeout=0")
		if len(got) == 0 || got[0].Type != "Starting" || got[0].ID != "1" {
			p.Fatalf("without a mask the first event is %v", got)
		}
		if home := got[0].Data.Get("home").Str(); !strings.HasPrefix(home, "/") {
			p.Errorf("the daemon's home is %q", home)
		}
		p.Is(got[0].Data, "myID", string(p.Get("/rest/system/status").Get("myID").JSON()))
	}},
}
