"""csproj and its kin."""

import posixpath
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from indexing.crossing.documents import read_xml, said_by, tag_of
from indexing.crossing.values import Dependency, DependencyScope, Manager, Manifest, normalized


def read_project_of_dotnet(path: str, text: bytes) -> Manifest | None:
    root = read_xml(text)
    if root is None:
        return None
    said = {tag_of(one): (one.text or "").strip() for group in root for one in group}
    stem = posixpath.splitext(posixpath.basename(path))[0]
    name = said.get("PackageId") or said.get("AssemblyName") or stem
    return Manifest(
        path=path,
        manager=Manager.NUGET,
        name=normalized(Manager.NUGET, name),
        version=said.get("Version") or said.get("VersionPrefix", ""),
        dependencies=tuple(_nuget_needs(root)),
        namespaces=(said.get("RootNamespace") or stem,),
    )


def _nuget_needs(root: Element) -> Iterator[Dependency]:
    for one in root.iter():
        included = one.get("Include", "") or one.get("Update", "")
        if tag_of(one) == "PackageReference" and included:
            is_private = (
                one.get("PrivateAssets") or said_by(one, "PrivateAssets")
            ).lower() == "all"
            yield Dependency(
                manager=Manager.NUGET,
                name=normalized(Manager.NUGET, included),
                range=one.get("Version") or said_by(one, "Version"),
                scope=DependencyScope.DEV if is_private else DependencyScope.RUNTIME,
            )
        elif tag_of(one) == "ProjectReference" and included:
            stem = posixpath.splitext(posixpath.basename(included.replace("\\", "/")))[0]
            yield Dependency(manager=Manager.NUGET, name=normalized(Manager.NUGET, stem))
