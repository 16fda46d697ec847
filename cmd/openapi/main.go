// Command openapi writes the OpenAPI document of the REST API, from which the console's TypeScript types are
// generated.
package main

import (
	"os"

	"muster/internal/edge/httpapi"
)

func main() {
	if _, err := os.Stdout.Write(httpapi.OpenAPIDocument()); err != nil {
		os.Exit(1)
	}
}
