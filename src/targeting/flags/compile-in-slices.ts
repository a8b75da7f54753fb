/** Compiles a project's definitions in slices of the event loop: thousands of flags take a tenth of a second. */
import type { ResultCache } from '../../flags/decision-cache/result-cache.ts'
import { type CompiledFlags, compileInSteps } from '../../flags/definition.ts'
import type { StoredDefinitions } from '../../flags/definition-types.ts'
import { Slices } from '../../threads/slices.ts'

/** Compiles definitions. With a `result_cache`, outcomes of persons are cached there. */
export async function compileInSlices(
  stored: StoredDefinitions,
  result_cache: ResultCache | null,
): Promise<CompiledFlags> {
  const steps = compileInSteps(stored, result_cache)
  const slices = new Slices()
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    if (slices.isOver()) await slices.end()
  }
}
