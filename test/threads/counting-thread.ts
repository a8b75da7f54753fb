/** A Worker for the tests of DeadlineWorker: what it does depends on the job. */
import { Refusal } from '../../src/errors.ts'
import { answerJobs } from '../../src/threads/answer-jobs.ts'

export type CountingJob = 'count' | 'endless' | 'refuse' | 'break' | 'crash'

let jobs = 0

answerJobs((job: CountingJob): number | Promise<number> => {
  jobs += 1
  if (job === 'endless') for (;;) jobs += 1
  if (job === 'refuse') {
    throw new Refusal('invalid_input', 'No.', { attr: 'query', span: { start: 1, end: 2 } })
  }
  if (job === 'break') throw new Error('broken')
  if (job === 'crash') return crash()
  return jobs
})

function crash(): Promise<number> {
  setTimeout(() => {
    throw new Error('crashed')
  })
  return new Promise(() => undefined)
}
