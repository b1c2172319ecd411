import { DroverError } from "#shared/errors.ts";
import { problemOutside } from "../../http/problem.ts";
import { SettingError } from "../settings.ts";

/** A deployment without its settings answers all with what is to be set; it has no token by which to know who asks. */
export const unset = (error: unknown): Response => {
  if (!(error instanceof SettingError)) throw error;
  return problemOutside(new DroverError("unavailable", error.message));
};
