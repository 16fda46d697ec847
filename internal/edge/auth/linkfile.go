package auth

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"muster/internal/logkey"
)

// WriteLinkFile writes the link of a new administrator to LinkFile, one address of it per line. Only the server's user
// can read the file. People removes it when the link is used or replaced, and KeepLinkFile when it has expired.
func (p *People) WriteLinkFile(addresses []string) error {
	return writeSecret(p.LinkFile, strings.Join(addresses, "\n"))
}

// KeepLinkFile keeps LinkFile until the link in it has expired, and no longer than ctx. It blocks until ctx ends.
func (p *People) KeepLinkFile(ctx context.Context) error {
	defer p.removeLinkFile() // The next start makes another link.
	expired := time.NewTimer(linkLife)
	defer expired.Stop()
	select {
	case <-expired.C:
		p.removeLinkFile()
		<-ctx.Done()
	case <-ctx.Done():
	}
	return ctx.Err()
}

func (p *People) removeLinkFile() {
	if p.LinkFile == "" {
		return
	}
	if err := os.Remove(p.LinkFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.log.Warn("the file of a log-in link that has ended is still there", logkey.Path, p.LinkFile, logkey.Err(err))
	}
}
