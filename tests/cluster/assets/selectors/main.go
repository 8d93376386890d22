// Command selectors evaluates device selectors with the package that kube-scheduler uses.
//
// Standard input is a JSON array of cases, each an expression and a device as resource.k8s.io/v1 encodes it; standard
// output is a JSON array of the answers, in the same order.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/dynamic-resource-allocation/cel"
)

type device struct {
	Driver                   string                                                    `json:"driver"`
	AllowMultipleAllocations *bool                                                     `json:"allowMultipleAllocations"`
	Attributes               map[resourceapi.QualifiedName]resourceapi.DeviceAttribute `json:"attributes"`
	Capacity                 map[resourceapi.QualifiedName]resourceapi.DeviceCapacity  `json:"capacity"`
}

type query struct {
	Expression string `json:"expression"`
	Device     device `json:"device"`
}

// answer is that of a stored expression; creationError is that of a new one.
type answer struct {
	Matches         *bool   `json:"matches,omitempty"`
	CompileError    string  `json:"compileError,omitempty"`
	EvaluationError string  `json:"evaluationError,omitempty"`
	Cost            *uint64 `json:"cost,omitempty"`
	CreationError   string  `json:"creationError,omitempty"`
}

func main() {
	var queries []query
	if err := json.NewDecoder(os.Stdin).Decode(&queries); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// The defaults of Kubernetes 1.37: stored expressions are compiled with every feature.
	compiler := cel.GetCompiler(cel.Features{EnableConsumableCapacity: true})
	answers := make([]answer, 0, len(queries))
	for _, each := range queries {
		found := evaluate(func() cel.CompilationResult {
			return compiler.CompileCELExpression(each.Expression, cel.Options{DisableCostEstimation: true})
		}, each.Device)
		found.CreationError = validate(func() cel.CompilationResult {
			newExpression := environment.NewExpressions
			return compiler.CompileCELExpression(each.Expression, cel.Options{EnvType: &newExpression})
		})
		answers = append(answers, found)
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// validate returns the error of the API server for a new object, as in pkg/apis/resource/validation.
func validate(compile func() cel.CompilationResult) (text string) {
	defer func() {
		if failure := recover(); failure != nil {
			text = fmt.Sprintf("panic: %v", failure)
		}
	}()
	compiled := compile()
	if compiled.Error != nil {
		return compiled.Error.Detail
	}
	if compiled.MaxCost > resourceapi.CELSelectorExpressionMaxCost {
		return "too complex, exceeds cost limit"
	}
	return ""
}

func evaluate(compile func() cel.CompilationResult, input device) (result answer) {
	// Some expressions panic: they are answered as those that cannot be compiled.
	defer func() {
		if failure := recover(); failure != nil {
			result = answer{CompileError: fmt.Sprintf("panic: %v", failure)}
		}
	}()
	compiled := compile()
	if compiled.Error != nil {
		return answer{CompileError: compiled.Error.Detail}
	}
	matches, details, err := compiled.DeviceMatches(context.Background(), cel.Device{
		Driver:                   input.Driver,
		AllowMultipleAllocations: input.AllowMultipleAllocations,
		Attributes:               input.Attributes,
		Capacity:                 input.Capacity,
	})
	if details != nil {
		result.Cost = details.ActualCost()
	}
	if err != nil {
		result.EvaluationError = err.Error()
	} else {
		result.Matches = &matches
	}
	return result
}
