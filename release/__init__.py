"""Files that are published of a commit, built into ``dist/``: ``make release``, or ``python -m release``.

tree       the sources: a commit without changes, and one version in all of its files
audit      published advisories about the locked packages
packages   source distribution, wheel, and archive of the Helm chart
image      archive of the image
contents   list of the components of the image (SBOM)
archives   tar archives that have the same bytes each time

Times in the files are that of the commit.  The same commit gives the same bytes with the same versions of Python, helm, buildah and
the Debian packages of the image; the versions of all Python packages are in ``requirements-ci.txt``.
"""
