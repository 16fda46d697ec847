package api

// ProblemType is the media type of a Problem.
const ProblemType = "application/problem+json"

// Problem is the body of every error (RFC 9457).
type Problem struct {
	Type      string          `json:"type" doc:"A URI that names the kind of problem" example:"urn:muster:problem:not_found"`
	Title     string          `json:"title"`
	Status    int             `json:"status"`
	Detail    string          `json:"detail" doc:"What is wrong, for a person"`
	Hint      string          `json:"hint,omitempty" doc:"What the person can do"`
	Errors    []ProblemDetail `json:"errors,omitempty" nullable:"false" doc:"The single things that are wrong"`
	Traceback string          `json:"traceback,omitempty" doc:"Of a Starlark program"`
}

// ProblemDetail is one thing that is wrong with an input.
type ProblemDetail struct {
	Field    string `json:"field,omitempty" doc:"Name of the field in the body"`
	Location string `json:"location,omitempty" doc:"Where else it is: path.NAME, query.NAME, header.NAME"`
	Line     int    `json:"line,omitzero" doc:"In the text of the field, or in the body; counted from 1"`
	Column   int    `json:"column,omitzero" doc:"In characters, counted from 1"`
	Message  string `json:"message"`
}
