/** The compile thread: a Worker for compilations that would block the server's event loop. */
import { answerJobs } from '../../threads/answer-jobs.ts'
import { runThreadJob } from './thread-jobs.ts'

answerJobs(runThreadJob)
