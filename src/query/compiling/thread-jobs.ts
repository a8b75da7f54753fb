/** JOBS: the kinds of work of the compile thread, each from plain data to plain data. */
import type { CompiledQuery } from '../../hogql/compile.ts'
import { type FactsJob, runFactsJob, type TextFacts } from '../editor/text-facts.ts'
import { type CompileJob, runCompileJob } from './compile-job.ts'

/** One line per kind of job. */
export type ThreadJobs = {
  readonly compile: { readonly input: CompileJob; readonly output: CompiledQuery }
  readonly facts: { readonly input: FactsJob; readonly output: TextFacts }
}

export type ThreadJob = {
  readonly [Kind in keyof ThreadJobs]: {
    readonly kind: Kind
    readonly input: ThreadJobs[Kind]['input']
  }
}[keyof ThreadJobs]

const JOBS: {
  readonly [Kind in keyof ThreadJobs]: (
    input: ThreadJobs[Kind]['input'],
  ) => ThreadJobs[Kind]['output']
} = {
  compile: runCompileJob,
  facts: runFactsJob,
}

/** Does one job. */
export function runThreadJob(job: ThreadJob): ThreadJobs[ThreadJob['kind']]['output'] {
  return job.kind === 'compile' ? JOBS.compile(job.input) : JOBS.facts(job.input)
}
