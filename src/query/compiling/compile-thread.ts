/** The compile thread: a Worker for what is too large to be compiled where requests are answered. */
import { answerJobs } from '../../threads/answer-jobs.ts'
import { runThreadJob } from './thread-jobs.ts'

answerJobs(runThreadJob)
