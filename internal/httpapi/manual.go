package httpapi

import "net/http"

// Manual answers with the pages of the manual, which hold nothing of a server: they need no log-in. It gives false, and
// writes nothing, where the manual has no such page.
type Manual interface {
	ServePage(w http.ResponseWriter, r *http.Request) (found bool, err error)
}

func (s *server) manualPage(w http.ResponseWriter, r *http.Request) {
	switch found, err := s.Manual.ServePage(w, r); {
	case err != nil:
		s.fail(w, r, err)
	case !found:
		s.fail(w, r, unknownPath())
	}
}
