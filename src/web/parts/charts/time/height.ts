/** The height of charts over time, for pages that give their charts a size of their own. */
import { createContext } from 'preact'

/** In px. */
export const ChartHeight = createContext(320)
