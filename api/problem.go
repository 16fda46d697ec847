package api

// ProblemType is the media type of a Problem.
const ProblemType = "application/problem+json"

// Problem is the body of every error (RFC 9457).
type Problem struct {
	Type      string          `json:"type" doc:"A URI that names the kind of problem" example:"urn:muster:problem:not_found"`
	Title     string          `json:"title" doc:"Kind of the failure"`
	Status    int             `json:"status" doc:"HTTP status"`
	Detail    string          `json:"detail" doc:"What is wrong, for a person"`
	Hint      string          `json:"hint,omitempty" doc:"What the person can do"`
	See       *ProblemSubject `json:"see,omitempty" doc:"What to look at, where the hint names a path of this API: for programs that show it in another way"`
	Errors    []ProblemDetail `json:"errors,omitempty" nullable:"false" doc:"The single things that are wrong"`
	Traceback string          `json:"traceback,omitempty" doc:"Of a Starlark program"`

	AllowFailing bool `json:"allowFailing,omitempty" doc:"The change is certain to fail on daemons. A request with allowFailing is not refused for that"`
}

// ProblemSubject is what a person looks at to go on after an error.
type ProblemSubject struct {
	Subject string `json:"subject" enum:"api,request,devices,deviceState,devicePlan,deviceSettings,deviceTrust,revisions,templates,templateHistory,tags,folders,rollouts,orders,consents,pending,sinks,secrets,sessions,users,tokens,enrollKeys,enrollments,channels,routes,silences" doc:"What it is; request: the request itself, which only a program can mend"`
	ID      string `json:"id,omitempty" doc:"Of the device or template that it belongs to; missing where that is the one that was asked about"`
	Says    string `json:"says" doc:"What a page tells a person in the place of the hint; of the subject request also in the place of the detail"`
}

// ProblemDetail is one thing that is wrong with an input.
type ProblemDetail struct {
	Field    string `json:"field,omitempty" doc:"Name of the field in the body"`
	Location string `json:"location,omitempty" doc:"Where else it is: path.NAME, query.NAME, header.NAME"`
	Line     int    `json:"line,omitzero" doc:"In the text of the field, or in the body; counted from 1"`
	Column   int    `json:"column,omitzero" doc:"In characters, counted from 1"`
	Message  string `json:"message" doc:"What is wrong, for a person"`
}
