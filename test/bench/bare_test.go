package bench

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
)

// bareOrder is what the bare client is told to do.
type bareOrder struct {
	Do      string  `json:"do"` // contact, count, write
	Daemons []place `json:"daemons"`
	Decode  bool    `json:"decode"`
	Hold    bool    `json:"hold"` // go on with polls on the same connections
}

type bareOutcome struct {
	Polls int64 `json:"polls"` // that hang now
}

// runBare is the yardstick's process: net/http with nothing around it, which does to every daemon what Muster does.
func runBare(in io.Reader, out io.Writer) error {
	b := &bareClient{http: &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 1,
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1: the cheaper one
	}}}
	return obey(in, out, func(o bareOrder) (bareOutcome, error) {
		switch o.Do {
		case "contact":
			return bareOutcome{}, b.contactAll(o)
		case "write":
			return bareOutcome{}, writeAll(o)
		}
		return bareOutcome{Polls: b.hanging.Load()}, nil
	})
}

// writeAll reads every configuration and writes one option. On a busy machine a daemon may take a connection for plain
// HTTP, because it hears nothing for a second: another one is made then, as Muster does.
func writeAll(o bareOrder) error {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, p := range o.Daemons {
		group.Go(func() (err error) {
			for range 3 {
				if err = p.write(`{"maxFolderConcurrency": 7}`); err == nil {
					return nil
				}
			}
			return err
		})
	}
	return group.Wait()
}

type bareClient struct {
	http    *http.Client
	hanging atomic.Int64
}

const (
	bareAtOnce  = 32  // contacts
	bareASecond = 200 // contacts that are begun: as many as Muster may
)

func (b *bareClient) contactAll(o bareOrder) error {
	next := make(chan *place)
	failed := make(chan error, 1)
	var all sync.WaitGroup
	for range bareAtOnce {
		all.Go(func() {
			for d := range next {
				err := b.contact(d, o.Decode)
				if err != nil {
					select {
					case failed <- err:
					default:
					}
				}
				if o.Hold {
					go b.hold(d)
				}
			}
		})
	}
	pace := rate.NewLimiter(bareASecond, 1)
	for i := range o.Daemons {
		if err := pace.Wait(context.Background()); err != nil {
			return err
		}
		next <- &o.Daemons[i]
	}
	close(next)
	all.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// contact does the requests of a first contact, in Muster's order.
func (b *bareClient) contact(d *place, decode bool) error {
	paths := []string{"/rest/noauth/health", "/rest/system/status", eventsPath + "&since=0&limit=1&timeout=0",
		"/rest/system/version", "/rest/config"}
	for _, folder := range d.Folders {
		paths = append(paths, "/rest/db/status?folder="+url.QueryEscape(folder))
	}
	for _, path := range paths {
		body, err := b.get(d, path)
		if err != nil {
			return err
		}
		var value any
		if decode && path != paths[0] {
			if err := json.Unmarshal(body, &value); err != nil {
				return err
			}
		}
	}
	return nil
}

const eventsPath = "/rest/events?events=ConfigSaved,FolderSummary,StateChanged,DeviceConnected,DeviceDisconnected," +
	"FolderErrors,PendingDevicesChanged,PendingFoldersChanged"

// hold polls for ever, with the status in between, as Muster does.
func (b *bareClient) hold(d *place) {
	for {
		b.hanging.Add(1)
		_, err := b.get(d, eventsPath+"&since=0&timeout=50")
		b.hanging.Add(-1)
		if err != nil {
			return
		}
		if _, err := b.get(d, "/rest/system/status"); err != nil {
			return
		}
	}
}

func (b *bareClient) get(d *place, path string) ([]byte, error) {
	r, err := http.NewRequest(http.MethodGet, fmt.Sprintf("https://%s:%d%s", d.Host, d.Port, path), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("X-API-Key", d.Key)
	response, err := b.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}
