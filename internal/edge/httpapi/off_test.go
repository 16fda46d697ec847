package httpapi

import "testing"

// A server that was made without enrolment panicked at its routes.
func TestRoutesOfEnrolmentAreOffWithoutIt(t *testing.T) {
	t.Parallel()
	for _, noun := range []Noun{EnrollmentHandlers{}, EnrollKeyHandlers{}, ClaimHandlers{}} {
		for _, rt := range noun.routes(&base{}) {
			if !rt.off {
				t.Errorf("%s is not off", rt.name)
			}
		}
	}
}
