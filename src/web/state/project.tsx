/** The current project, for everything inside `/p/:project/`. */
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { SessionProject } from './session.ts'

const ProjectContext = createContext<SessionProject | null>(null)

/** Provides the project to the parts inside it. */
export const ProjectProvider = ProjectContext.Provider

/** Returns the project whose page this is. Throws outside of a project's pages. */
export function useProject(): SessionProject {
  const project = useContext(ProjectContext)
  if (project === null) throw new Error('not within a project')
  return project
}

/**
 * Whether the user may change things of a kind, as rights name it: `dashboard`. The server decides; the pages leave out the
 * changes that it would refuse.
 */
export const useMayEdit = (kind: string): boolean => !useProject().read_only.includes(kind)
