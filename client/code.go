package client

import "muster/internal/fleet"

// Code says what kind of failure an error of this package is.
type Code string

// The codes that a caller tells apart. The server's OpenAPI document says which status an operation may answer.
const (
	CodeMalformed    Code = Code(fleet.CodeMalformed)    // 400, 415: the request could not be read
	CodeUnauthorized Code = Code(fleet.CodeUnauthorized) // 401: the token is missing or does not count any more
	CodeForbidden    Code = Code(fleet.CodeForbidden)    // 403: the token's role or part of the fleet does not allow it
	CodeNotFound     Code = Code(fleet.CodeNotFound)     // 404, 405: what the path names does not exist
	CodeConflict     Code = Code(fleet.CodeConflict)     // 409: it was done meanwhile, or something is in the way
	CodePrecondition Code = Code(fleet.CodePrecondition) // 412: a Condition is not met
	CodeTooLarge     Code = Code(fleet.CodeTooLarge)     // 413: the body is larger than the server reads
	CodeInvalid      Code = Code(fleet.CodeInvalid)      // 422: the input is not valid; Error.Problem names the fields
	CodeTooMany      Code = Code(fleet.CodeTooMany)      // 429: too many attempts; try again later
	CodeUnavailable  Code = Code(fleet.CodeUnavailable)  // 502 to 504, or no server answered
	CodeInternal     Code = Code(fleet.CodeInternal)     // 500, or an answer that is not understood
)

// CodeOf returns the code of an error, CodeInternal for an error of another package, and "" for nil.
func CodeOf(err error) Code { return Code(fleet.CodeOf(err)) }
