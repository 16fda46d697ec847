package auth

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// A link that nobody opened stayed in the home when it had expired.
func TestTheFileOfALinkIsRemovedWhenTheLinkExpires(t *testing.T) {
	p := newPeople(t)
	p.LinkFile = filepath.Join(t.TempDir(), "login-link")
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			after time.Duration
			there bool
		}{{linkLife - time.Second, true}, {linkLife + time.Second, false}} {
			if err := p.WriteLinkFile([]string{"http://127.0.0.1/ui/login?code=a"}); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- p.KeepLinkFile(ctx) }()
			<-time.After(c.after)
			synctest.Wait()
			if _, err := os.Stat(p.LinkFile); (err == nil) != c.there {
				t.Errorf("after %v: %v", c.after, err)
			}
			cancel()
			if err := <-ended; err == nil {
				t.Error("it ended without its context")
			}
			if _, err := os.Stat(p.LinkFile); err == nil {
				t.Error("the file is there after the end of the server")
			}
		}
	})
}
