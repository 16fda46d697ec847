package httpapi

import "net/http"

// Manual answers with the pages of the manual, which hold nothing of a server: they need no log-in. Where it gives an
// error, it wrote nothing.
type Manual interface {
	ServePage(w http.ResponseWriter, r *http.Request) error
}

func (s *server) manualPage(w http.ResponseWriter, r *http.Request) {
	if err := s.Manual.ServePage(w, r); err != nil {
		s.fail(w, r, err)
	}
}
