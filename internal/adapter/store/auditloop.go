package store

import (
	"context"
	"time"

	"muster/internal/logkey"
)

const (
	boundedEvery = time.Minute
	signEvery    = time.Hour
)

// RunAuditor runs until ctx ends. It signs the newest entry of the audit, at once and every hour. Every minute, and
// once more at the end, it writes into the audit how many entries were only counted (see bounded).
func (s *Store) RunAuditor(ctx context.Context) error {
	count, sign := time.NewTicker(boundedEvery), time.NewTicker(signEvery)
	defer count.Stop()
	defer sign.Stop()
	s.logHead(ctx)
	for {
		select {
		case <-count.C:
			s.flush(ctx, false)
		case <-sign.C:
			s.logHead(ctx)
		case <-ctx.Done():
			ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), reconnectLimit)
			defer cancel()
			s.flush(ending, true)
			return ctx.Err()
		}
	}
}

func (s *Store) flush(ctx context.Context, all bool) {
	if err := s.flushBounded(ctx, all); err != nil && ctx.Err() == nil {
		s.log.Warn("what was refused is not counted in the audit", logkey.Err(err))
	}
}

// logHead signs the newest entry of the audit, and logs the head if it is new. If the log is kept on another machine,
// people can prove with this head that no entry up to it was changed later.
func (s *Store) logHead(ctx context.Context) {
	head, fresh, err := s.SignHead(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		s.log.Warn("the audit is not signed", logkey.Err(err))
	case err == nil && fresh:
		s.log.Info("audit head", "head", head.String())
	}
}
